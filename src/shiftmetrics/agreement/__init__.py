"""Posterior agreement: do a model's predictions survive this shift? Paired scores, no labels."""
