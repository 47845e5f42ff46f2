"""The laboratory: make shifts, load data, train models, and run what the papers run. No measure needs it."""
