"""Encoders: what maps a block of items to rows of numbers, and what learns from a sample first."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import as_array, to_float64, to_numpy
from shiftmetrics._core.validation import check_integer, check_keys, describe
from shiftmetrics.adapters.embeddings.items import Items, check_items

TAKES = {"tfidf": "texts", "table": "table"}
_PLURAL = {"images": "images", "texts": "texts", "table": "rows of a table"}


@dataclass(frozen=True, eq=False)
class LearnedEncoder:
    """A scikit-learn transformer that has learned from a sample; call it with items.

    Attributes
    ----------
    name : str
        "pca", "tfidf" or "table".
    model : object
        The fitted transformer or pipeline. The words of "tfidf" are ``model.get_feature_names_out()``.
    identity : str
        Tells its settings and the sample apart, for the cache.
    """

    name: str
    model: Any = field(repr=False)
    identity: str = field(repr=False)

    def __call__(self, items: Any) -> Any:
        """Return one row of numbers for each item."""
        columns = getattr(self.model, "feature_names_in_", None)
        if columns is not None and set(getattr(items, "columns", ())) != set(columns):
            got = list(items.columns) if hasattr(items, "columns") else "an array without names"
            raise ValueError(describe("items", f"of the columns that were learned, {list(columns)}", got))
        items = items if columns is None else items[list(columns)]
        try:
            rows = self.model.transform(items)
        except ValueError as error:
            raise ValueError(
                describe("items", "like those that were learned", f"others ({error})")
            ) from error
        return rows.toarray() if hasattr(rows, "toarray") else rows


def fit_encoder(name: str, items: Any, *, size: int | None = None, **options: int | None) -> LearnedEncoder:
    """Fit an encoder on a sample, to encode all samples that are to be compared.

    Parameters
    ----------
    name : {"pca", "tfidf", "table"}
        - "pca": principal components of images or numbers; ``n_components`` of them, 50 by default, fewer where the
          sample has fewer rows or columns.
        - "tfidf": frequencies of words, weighted down where a word is common, rows of length 1; the ``max_features``
          most frequent words, 2000 by default. ``n_components`` reduces them to so many latent dimensions.
        - "table": numbers standardised, and a column for each value of a column of words.
    items : images, texts or table
        What to learn from, as `embed` takes it. Words that "tfidf" has not seen do not count.
    size : int, optional
        Side in pixels to which image files are resized.
    **options : int
        ``n_components``, ``max_features``.

    Returns
    -------
    LearnedEncoder
        Can be pickled, for the next batch.

    Raises
    ------
    TypeError
        If the items are of a kind that this encoder does not take.
    ValueError
        If the name or an option is unknown, or there is nothing to learn from the items.

    Examples
    --------
    >>> encoder = fit_encoder("tfidf", ["a good film", "a bad film"])
    >>> encoder.model.get_feature_names_out().tolist(), encoder(["good good"]).round(1).tolist()
    (['bad', 'film', 'good'], [[0.0, 0.0, 1.0]])
    """
    import sklearn

    check_keys([name], "encoder", tuple(LEARNERS), "an encoder that learns")
    known = check_items(items, "items", size=size)
    check_kind(name, known)
    defaults = LEARNERS[name].__kwdefaults__ or {}
    check_keys(options, "options", tuple(defaults), f"options of {name!r}")
    settings = sorted({**defaults, **options}.items())
    for option, value in settings:
        if value is not None:
            check_integer(value, option, low=1)
    model = LEARNERS[name](known.take(slice(None)), **options)
    identity = f"{name} {settings} scikit-learn {sklearn.__version__} {known.digest()}"
    return LearnedEncoder(name, model, identity)


def check_kind(name: str, items: Items) -> None:
    """Raise a TypeError if this encoder does not take items of this kind."""
    kind = TAKES.get(name)
    if kind is not None and items.kind != kind:
        raise TypeError(describe("items", f"{_PLURAL[kind]} for encoder={name!r}", _PLURAL[items.kind]))


def pixels(items: Any) -> npt.NDArray[Any]:
    """Return each image as a row of float64, whole numbers 0..255 as 0..1; numbers of a table stay as they are."""
    if isinstance(items, list):
        remedy = "Use fit_encoder('tfidf', texts); names of files go into pathlib.Path."
        raise TypeError(describe("items", "images or rows of numbers", "texts", remedy))
    array = to_numpy(as_array(items, "items"))
    flat: npt.NDArray[Any] = to_float64(array).reshape(len(array), -1) / _scale(array)
    return flat


class PixelEncoder:
    """The pixels of each image in one row."""

    identity = "pixels"

    def __call__(self, items: Any) -> npt.NDArray[Any]:
        """Return one row of numbers for each image."""
        return pixels(items)


def _scale(array: npt.NDArray[Any]) -> float:
    """Return what the values of images are divided by: 255 for whole numbers 0..255."""
    return 255.0 if array.dtype == np.uint8 and array.ndim > 2 else 1.0


def _fit_pca(items: Any, *, n_components: int = 50) -> Any:
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    pca = PCA(min(n_components, *pixels(items).shape), random_state=0)
    return make_pipeline(FunctionTransformer(pixels), pca).fit(items)


def _fit_tfidf(texts: list[str], *, max_features: int = 2000, n_components: int | None = None) -> Any:
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    vectorizer = TfidfVectorizer(max_features=max_features)
    try:
        rows = vectorizer.fit_transform(texts)
    except ValueError as error:
        got = f"none with a word of two letters ({error})"
        raise ValueError(describe("items", "texts with words", got)) from error
    if n_components is None:
        return vectorizer
    projection = TruncatedSVD(min(n_components, rows.shape[1]), random_state=0).fit(rows)
    return make_pipeline(vectorizer, projection)


def _fit_table(items: Any) -> Any:
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    if not hasattr(items, "columns"):
        return StandardScaler().fit(items)
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include=["number", "bool"])),
        (words, make_column_selector(dtype_exclude=["number", "bool"])),
    ).fit(items)


LEARNERS: dict[str, Any] = {"pca": _fit_pca, "tfidf": _fit_tfidf, "table": _fit_table}
"""Encoders that learn from a sample: functions that fit them, with their options."""


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
        embeddings are cached only under its attribute ``identity``: nothing tells when its code changes.

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
        """What tells this module apart: its layers and weights; None with a ``preprocess`` that has none."""
        before = "" if self.preprocess is None else getattr(self.preprocess, "identity", None)
        if before is None:
            return None
        sha = hashlib.sha256(f"{before} {self.module!r}".encode())
        for key, tensor in self.module.state_dict().items():
            values = np.ascontiguousarray(to_numpy(tensor))
            sha.update(f"{key} {values.dtype.str} {values.shape}".encode())
            sha.update(values.tobytes())
        return f"torch {sha.hexdigest()}"

    def __call__(self, items: Any) -> Any:
        """Return one row of numbers for each item."""
        import torch

        from shiftmetrics.attacks.model import evaluation_mode, parameter_of

        if isinstance(items, list):
            remedy = (
                "Pass a callable that tokenises them, such as the method encode of a sentence transformer."
            )
            raise TypeError(describe("items", "images or a table for a torch module", "texts", remedy))
        like = parameter_of(self.module)
        batch = _tensor(items).to(torch.device("cpu") if like is None else like.device)
        with evaluation_mode(self.module), torch.no_grad():
            features = self.module(batch if self.preprocess is None else self.preprocess(batch))
        if not isinstance(features, torch.Tensor):
            got, remedy = type(features).__name__, "Wrap the module so that it returns the features."
            raise TypeError(describe("The module's output", "a tensor", got, remedy))
        return features.flatten(1) if features.ndim > 2 else features


def _tensor(items: Any) -> Any:
    import torch

    array = to_numpy(items.to_numpy() if hasattr(items, "columns") else items)
    # A network would take 0..255 in floats for very bright; values below 0 are of standardised images.
    if array.ndim > 2 and array.dtype != np.uint8 and array.size and array.min() >= 0 and array.max() > 1:
        expected = "images of bytes 0..255 or floats 0..1 for a network"
        got = f"{array.dtype} values up to {float(array.max()):.4g}"
        raise ValueError(describe("items", expected, got, "Divide by 255, or convert to uint8."))
    values = np.asarray(array, dtype=np.float32) / np.float32(_scale(array))
    if values.ndim == 3:
        values = values[:, None]
    elif values.ndim == 4:
        values = values.transpose(0, 3, 1, 2)
    return torch.from_numpy(np.ascontiguousarray(values))
