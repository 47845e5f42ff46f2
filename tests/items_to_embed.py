"""A few pictures, texts and rows, and an encoder that counts its calls."""

import numpy as np
import pandas as pd

IMAGES = np.random.default_rng(0).integers(0, 256, size=(12, 6, 5, 3), dtype=np.uint8)
TEXTS = ["a good film", "a bad film", "long and bad", "short but good"]
TABLE = pd.DataFrame(
    {"age": [20.0, 30.0, 40.0], "kind": ["cat", "dog", "cat"], "wild": [True, False, False]}
)


class Counting:
    """An encoder that counts its calls."""

    def __init__(self, identity=None):
        self.calls, self.sizes = 0, []
        if identity is not None:
            self.identity = identity

    def __call__(self, items):
        self.calls += 1
        self.sizes.append(len(items))
        return np.array([[len(str(item)), 1.0] for item in items])
