"""Runs of experiments of the kind `matrix`."""
