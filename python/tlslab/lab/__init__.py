"""The laboratory: the only place where target and engine meet."""
