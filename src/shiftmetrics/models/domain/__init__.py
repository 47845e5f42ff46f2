"""The table of samples as codes, and where these may go at what cost."""
