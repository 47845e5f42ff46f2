"""Torch modules: attacks for errors, gradient ascent for other losses, and a certified bound from the layers."""
