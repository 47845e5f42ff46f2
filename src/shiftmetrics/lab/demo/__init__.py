"""The demonstration on handwritten digits: one classifier, two shifts, all three measures, one report."""
