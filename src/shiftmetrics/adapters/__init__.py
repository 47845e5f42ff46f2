"""Other libraries meet this one: one file for each, without formulas."""
