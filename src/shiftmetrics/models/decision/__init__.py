"""The nearest error of rows, from the predictions of a model alone."""
