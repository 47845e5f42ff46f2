"""Built-in encoders: what turns a block of items into rows of numbers, and what must see a sample before it can."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import as_array, to_float64, to_numpy
from shiftmetrics._core.validation import check_integer, describe
from shiftmetrics.adapters.embeddings.items import Items, Kind, check_items


@runtime_checkable
class Encoder(Protocol):
    """Anything that maps a block of items to an array of shape (n_items, n_columns), row by row.

    It gets images as an array of shape (n, height, width) or (n, height, width, channels), texts as a list of str,
    and tables as they are. With a string ``identity`` that tells its weights and settings apart, they are cached.
    """

    def __call__(self, items: Any) -> Any:
        """Return one row of numbers for each item."""
        ...


Learner = TypeVar("Learner", bound="LearnedEncoder")


@dataclass(frozen=True, eq=False)
class LearnedEncoder(ABC):
    """An encoder that has to see items first; ``fit`` returns one that has, and leaves this one as it is."""

    kind: ClassVar[Kind | None] = None
    """What it encodes; None for more than one kind."""

    identity: str | None = field(default=None, init=False, repr=False)
    _transform: Callable[[Any], Any] | None = field(default=None, init=False, repr=False)

    def fit(self: Learner, items: Any) -> Learner:
        """Learn from items.

        Parameters
        ----------
        items : images, texts or table
            The sample to learn from, as `embed` takes it.

        Returns
        -------
        LearnedEncoder
            A copy that encodes.

        Raises
        ------
        TypeError
            If the items are of a kind that this encoder does not encode.
        ValueError
            If there are fewer of them than it needs.
        """
        known = check_items(items, "items")
        self.check(known)
        fitted = dataclasses.replace(self)
        object.__setattr__(fitted, "_transform", self._learn(known.take(slice(None))))
        object.__setattr__(fitted, "identity", self.identity_after(known.digest()))
        return fitted

    def identity_after(self, digest: str) -> str:
        """Name what this encoder is once it has seen items of that digest."""
        import sklearn

        return f"{self!r} scikit-learn {sklearn.__version__} {digest}"

    def check(self, items: Items) -> None:
        """Refuse items of the wrong kind."""
        if self.kind is not None and items.kind != self.kind:
            name = type(self).__name__
            raise TypeError(describe("items", f"{_PLURAL[self.kind]} for {name}", _PLURAL[items.kind]))

    def __call__(self, items: Any) -> Any:
        """Return one row of numbers for each item."""
        if self._transform is None:
            raise ValueError(
                f"The encoder {self!r} has learned from no sample yet. Call fit, with all that are to be compared."
            )
        return self._transform(items)

    @abstractmethod
    def _learn(self, items: Any) -> Callable[[Any], Any]:
        """Return what encodes a block of items."""


@dataclass(frozen=True, eq=False)
class PixelEncoder:
    """The pixels of each image in one row; whole numbers 0..255 become 0..1.

    Examples
    --------
    >>> PixelEncoder()(np.full((2, 3, 3), 255, dtype=np.uint8)).shape
    (2, 9)
    """

    identity: str = field(default="pixels", init=False, repr=False)

    def __call__(self, items: Any) -> npt.NDArray[Any]:
        """Return one row of numbers for each image."""
        return _flat(items)


@dataclass(frozen=True, eq=False)
class PCAEncoder(LearnedEncoder):
    """Principal components of pixels, or of the columns of a numeric table.

    Parameters
    ----------
    n_components : int, default 50
        How many; fewer where the sample has fewer rows or columns.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> encoder = PCAEncoder(n_components=2).fit(rng.normal(size=(20, 5)))
    >>> encoder(rng.normal(size=(3, 5))).shape
    (3, 2)
    """

    n_components: int = 50

    def __post_init__(self) -> None:
        check_integer(self.n_components, "n_components", low=1)

    def _learn(self, items: Any) -> Callable[[Any], Any]:
        return _Components(items, self.n_components).transform


class _Components:
    """Fitted principal components."""

    def __init__(self, items: Any, n_components: int) -> None:
        from sklearn.decomposition import PCA

        rows = _flat(items)
        self.model = PCA(min(n_components, *rows.shape), svd_solver="auto", random_state=0).fit(rows)

    def transform(self, items: Any) -> Any:
        rows, learned = _flat(items), self.model.n_features_in_
        if rows.shape[1] != learned:
            raise ValueError(describe("items", f"of {learned} pixels or columns, as learned", rows.shape[1]))
        return self.model.transform(rows)


@dataclass(frozen=True, eq=False)
class TfidfEncoder(LearnedEncoder):
    """Frequencies of words, weighted down where a word is common: TF-IDF, rows of length 1.

    Fit it on all samples that are to be compared: words that it has not seen do not count.

    Parameters
    ----------
    max_features : int, default 2000
        Most words, the most frequent first.
    n_components : int, optional
        Reduce the frequencies to so many latent dimensions (latent semantic analysis). Default: keep the words.

    Attributes
    ----------
    words : tuple of str
        The word of each column of a fitted encoder that keeps words.

    Examples
    --------
    >>> encoder = TfidfEncoder().fit(["a good film", "a bad film"])
    >>> encoder.words, encoder(["good good"]).round(1).tolist()
    (('bad', 'film', 'good'), [[0.0, 0.0, 1.0]])
    """

    kind: ClassVar[Kind | None] = "texts"

    max_features: int = 2000
    n_components: int | None = None
    words: tuple[str, ...] = field(default=(), init=False, repr=False)

    def __post_init__(self) -> None:
        check_integer(self.max_features, "max_features", low=1)
        if self.n_components is not None:
            check_integer(self.n_components, "n_components", low=1)

    def fit(self, items: Any) -> TfidfEncoder:  # noqa: D102
        fitted = super().fit(items)
        if self.n_components is None and fitted._transform is not None:
            object.__setattr__(fitted, "words", tuple(fitted._transform.__self__.words))  # type: ignore[attr-defined]
        return fitted

    def _learn(self, items: Any) -> Callable[[Any], Any]:
        return _Words(items, self.max_features, self.n_components).transform


class _Words:
    """A fitted vectorizer, and the projection behind it where there is one."""

    def __init__(self, texts: list[str], max_features: int, n_components: int | None) -> None:
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer

        self.vectorizer = TfidfVectorizer(max_features=max_features)
        try:
            rows = self.vectorizer.fit_transform(texts)
        except ValueError as error:
            raise ValueError(
                describe("items", "texts with words", f"none with a word of two letters ({error})")
            ) from error
        self.words = [str(word) for word in self.vectorizer.get_feature_names_out()]
        self.projection = None
        if n_components is not None:
            n_components = min(n_components, rows.shape[1])
            self.projection = TruncatedSVD(n_components, random_state=0).fit(rows)

    def transform(self, texts: list[str]) -> Any:
        rows = self.vectorizer.transform(texts)
        return rows.toarray() if self.projection is None else self.projection.transform(rows)


@dataclass(frozen=True, eq=False)
class TableEncoder(LearnedEncoder):
    """Columns of a table on one scale: numbers standardised, words as one column for each value.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [20.0, 40.0], "kind": ["cat", "dog"]})
    >>> TableEncoder().fit(table)(table).tolist()
    [[-1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    """

    kind: ClassVar[Kind | None] = "table"

    def _learn(self, items: Any) -> Callable[[Any], Any]:
        return _Columns(items).transform


class _Columns:
    """Fitted scales of the columns of a table, and the values that columns of words hold."""

    def __init__(self, items: Any) -> None:
        from sklearn.compose import make_column_selector, make_column_transformer
        from sklearn.preprocessing import OneHotEncoder, StandardScaler

        self.names = list(items.columns) if hasattr(items, "columns") else None
        model = StandardScaler()
        if self.names is not None:
            words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
            model = make_column_transformer(
                (StandardScaler(), make_column_selector(dtype_include=["number", "bool"])),
                (words, make_column_selector(dtype_exclude=["number", "bool"])),
            )
        self.model = model.fit(items)

    def transform(self, items: Any) -> Any:
        given = list(items.columns) if hasattr(items, "columns") else None
        if self.names is not None and (given is None or set(given) != set(self.names)):
            got = "an array without names" if given is None else f"{given}"
            raise ValueError(describe("items", f"of the columns that were learned, {self.names}", got))
        return self.model.transform(items)


_PLURAL = {"images": "images", "texts": "texts", "table": "rows of a table"}


def _flat(items: Any) -> npt.NDArray[Any]:
    """Return each image as a row of float64, whole numbers 0..255 as 0..1; numbers of a table stay as they are."""
    if isinstance(items, list):
        remedy = "Use encoder='tfidf'; names of files go into pathlib.Path."
        raise TypeError(describe("items", "images or rows of numbers", "texts", remedy))
    array = to_numpy(as_array(items, "items"))
    scale = 255.0 if array.dtype == np.uint8 and array.ndim > 2 else 1.0
    flat: npt.NDArray[Any] = to_float64(array).reshape(len(array), -1) / scale
    return flat
