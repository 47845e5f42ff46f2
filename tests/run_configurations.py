"""Configurations of `shiftmetrics run` over the small inputs of the command line's tests."""

CONFIG = """
title = "The spring release"
seed = 3

[[agreement]]
name = "noise"
shifted = "noisy.csv"
reference = "clean.csv"
id = "image"
label = "truth"

[[stability]]
name = "patients"
file = "patients.csv"
distances = "distance"
threshold = 0.4
id = "patient"
curve = true

[[novelty]]
name = "points"
test = "points.npz:new"
reference = "points.npz:reference"
"""
ONE = CONFIG.split("[[stability]]")[0]
RULE = """
[[rule]]
name = "predictions survive noise"
measure = "posterior_agreement"
field = "normalized"
at_least = {}
"""
