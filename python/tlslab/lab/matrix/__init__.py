"""How experiments of the kind `matrix` are run."""
