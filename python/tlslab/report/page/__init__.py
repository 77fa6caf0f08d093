"""A run's page, piece by piece: tables with their columns' reach, folds, the order of all parts."""
