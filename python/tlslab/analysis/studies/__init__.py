"""The questions of published studies, for runs of the kind `matrix`."""
