"""The paper's score: the spectrum of the difference of two kernel covariances, with its error bound."""
