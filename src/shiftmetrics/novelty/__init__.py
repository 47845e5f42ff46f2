"""Kernel entropic novelty: how much, and which modes, one sample holds that a reference lacks."""
