"""Batch after batch against a passport, with alarms that allow for looking every time."""
