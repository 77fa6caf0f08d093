"""What runs of the kind `matrix` show: cells side by side, one against the other."""
