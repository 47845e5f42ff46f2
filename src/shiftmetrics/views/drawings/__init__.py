"""Drawings of results with matplotlib, each registered for the classes that it draws; see `kinds`."""
