"""What a published study asked of runs of the kind `matrix`."""
