"""Which rows to label, and intervals from a few labels."""
