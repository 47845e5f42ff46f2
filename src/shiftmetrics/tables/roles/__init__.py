"""Roles of columns, each found by one function of evidence."""
