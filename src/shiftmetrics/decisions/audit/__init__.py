"""What changed in a table, since when, and whether a model is worse on it."""
