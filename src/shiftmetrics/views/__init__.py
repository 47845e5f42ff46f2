"""Results in, drawings and reports out: `plot` draws any result, `report` writes one self-contained page."""
