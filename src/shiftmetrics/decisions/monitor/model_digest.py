"""A hash of a fitted model: the same after it was written and read, and another one after it was fitted anew."""

from __future__ import annotations

import io
from typing import Any

import numpy as np


def model_digest(model: Any) -> str:
    """Return the hash; empty where a model cannot be written, and for the name of a column of predictions."""
    if isinstance(model, str):
        return ""
    import joblib
    from joblib.hashing import NumpyHasher

    class ModelHasher(NumpyHasher):  # type: ignore[misc]
        def save(self, obj: Any) -> None:
            # Between the fields of a record, such as a node of a tree, lie bytes that hold anything.
            if isinstance(obj, np.ndarray) and obj.dtype.names:
                obj = [np.ascontiguousarray(obj[name]) for name in obj.dtype.names]
            super().save(obj)

    try:
        # Of a copy that was written and read: arrays may lie otherwise in memory afterwards.
        with io.BytesIO() as file:
            joblib.dump(model, file)
            file.seek(0)
            return str(ModelHasher(hash_name="md5").hash(joblib.load(file)))
    except Exception:  # whatever the classes of the model raise: then it is not compared
        return ""
