"""What is new or missing: the gate, the search for modes, their members, and what is no mode."""
