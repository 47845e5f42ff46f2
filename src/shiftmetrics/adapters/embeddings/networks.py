"""Encoders from torch: a module of your own, or a sentence transformer by its name."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import to_numpy
from shiftmetrics._core.validation import describe

PREFIX = "sentence-transformers/"


def is_module(value: Any) -> bool:
    """Tell whether ``value`` is a torch module, without importing torch."""
    return callable(value) and hasattr(value, "state_dict") and hasattr(value, "eval")


@dataclass(frozen=True, eq=False)
class TorchEncoder:
    """A torch module, in evaluation mode and without gradients; what it returns is flattened to one row an item.

    Images reach it as float32 of shape (n, channels, height, width), whole numbers 0..255 as 0..1; tables as float32
    of shape (n, n_columns).

    Parameters
    ----------
    module : torch.nn.Module
        What encodes, on whatever device it is.
    preprocess : callable, optional
        Maps a batch of tensors to what the module was trained on: resizing, cropping, normalising. With one, the
        embeddings are cached only under an ``identity`` given to `embed`: nothing tells when its code changes.

    Examples
    --------
    >>> import torch
    >>> encoder = TorchEncoder(torch.nn.Linear(4, 2))
    >>> tuple(encoder(np.zeros((3, 4))).shape)
    (3, 2)
    """

    module: Any
    preprocess: Callable[[Any], Any] | None = None

    @property
    def identity(self) -> str | None:
        """What tells this module apart: its layers and weights; None with a ``preprocess``."""
        if self.preprocess is not None:
            return None
        sha = hashlib.sha256(repr(self.module).encode())
        for key, tensor in self.module.state_dict().items():
            values = np.ascontiguousarray(to_numpy(tensor))
            sha.update(f"{key} {values.dtype.str} {values.shape}".encode())
            sha.update(values.tobytes())
        return f"torch {sha.hexdigest()}"

    def __call__(self, items: Any) -> Any:
        """Return one row of numbers for each item."""
        import torch

        if isinstance(items, list):
            raise TypeError(
                describe(
                    "items",
                    "images or a table for a torch module",
                    "texts",
                    "Pass a callable that tokenises them.",
                )
            )
        first = next(iter([*self.module.parameters(), *self.module.buffers()]), None)
        batch = _tensor(items).to(torch.device("cpu") if first is None else first.device)
        training = self.module.training
        self.module.eval()
        try:
            with torch.no_grad():
                features = self.module(batch if self.preprocess is None else self.preprocess(batch))
        finally:
            self.module.train(training)
        if not isinstance(features, torch.Tensor):
            got = type(features).__name__
            raise TypeError(
                describe(
                    "The module's output", "a tensor", got, "Wrap the module so that it returns the features."
                )
            )
        return features.flatten(1) if features.ndim > 2 else features


@dataclass(frozen=True, eq=False)
class SentenceEncoder:
    """A sentence transformer: texts to vectors of length 1.

    Parameters
    ----------
    name : str
        Its name on the model hub, or a folder that holds it. With ``HF_HUB_OFFLINE=1`` nothing is downloaded.
    """

    name: str

    @property
    def identity(self) -> str:
        """What tells this model apart: its layers and weights."""
        return f"{TorchEncoder(self._model).identity} normalised"

    @cached_property
    def _model(self) -> Any:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise ImportError(
                "Sentence transformers need the text extra: pip install 'shiftmetrics[text]'."
            ) from error
        return SentenceTransformer(self.name)

    def __call__(self, items: Any) -> Any:
        """Return one vector for each text."""
        if not isinstance(items, list):
            raise TypeError(describe("items", "texts for a sentence transformer", type(items).__name__))
        return self._model.encode(items, normalize_embeddings=True, show_progress_bar=False)


def _tensor(items: Any) -> Any:
    import torch

    array = to_numpy(items.to_numpy() if hasattr(items, "columns") else items)
    scale = 255.0 if array.dtype == np.uint8 and array.ndim > 2 else 1.0
    values = np.asarray(array, dtype=np.float32) / np.float32(scale)
    if values.ndim == 3:
        values = values[:, None]
    elif values.ndim == 4:
        values = values.transpose(0, 3, 1, 2)
    return torch.from_numpy(np.ascontiguousarray(values))
