"""OT stability: the least perturbation that lifts a model's risk to a threshold."""
