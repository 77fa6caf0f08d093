"""A run's page, part by part: tables with their columns' reach, folds, the order of all parts."""
