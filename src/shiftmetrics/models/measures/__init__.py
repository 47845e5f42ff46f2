"""The stability of a model, of each feature, and the least changes of each sample."""
