"""The steps of Adam, for the solvers of the papers.

D. P. Kingma and J. Ba, "Adam: A method for stochastic optimization", ICLR 2015, arXiv:1412.6980.
"""

from __future__ import annotations

import numpy as np

from shiftmetrics._core.arrays import FloatArray

FIRST_DECAY, SECOND_DECAY, EPSILON = 0.9, 0.999, 1e-8


class Adam:
    """Steps along the gradients of an array of numbers, of about one length whatever their size."""

    def __init__(self, shape: tuple[int, ...], learning_rate: float) -> None:
        self.first, self.second, self.buffer = np.zeros(shape), np.zeros(shape), np.empty(shape)
        self.learning_rate, self.n_steps = learning_rate, 0

    def step(self, gradient: FloatArray) -> FloatArray:
        """Return what to add to go up; it is overwritten by the next step, and so is ``gradient``."""
        self.n_steps += 1
        self.first *= FIRST_DECAY
        self.second *= SECOND_DECAY
        np.multiply(gradient, gradient, out=self.buffer)
        self.buffer *= 1.0 - SECOND_DECAY
        self.second += self.buffer
        gradient *= 1.0 - FIRST_DECAY
        self.first += gradient
        np.divide(self.second, 1.0 - SECOND_DECAY**self.n_steps, out=self.buffer)
        np.sqrt(self.buffer, out=self.buffer)
        self.buffer += EPSILON
        np.divide(self.first, self.buffer, out=self.buffer)
        self.buffer *= self.learning_rate / (1.0 - FIRST_DECAY**self.n_steps)
        return self.buffer

    def step_of_number(self, gradient: float) -> float:
        """Return the step of a single number."""
        return float(self.step(np.array([gradient]))[0])
