"""Two language models by the log-probabilities of the same tokens."""
