"""Two models by the metric that people ship by: F1, areas under curves, losses, R2, or a function of their own."""
