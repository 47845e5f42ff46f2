"""Features of images, strings and tables: three encoders that learn from a sample, any callable, and a cache."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, as_array, is_table, to_float64, to_numpy
from shiftmetrics._core.files import atomic_path
from shiftmetrics._core.options import progress_bar
from shiftmetrics._core.validation import (
    check_choice,
    check_finite,
    check_integer,
    check_keys,
    describe,
)


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
        Its settings and a hash of the sample: the name under which embeddings are cached.
    """

    name: str
    model: Any = field(repr=False)
    identity: str = field(repr=False)

    def __call__(self, items: Any) -> Any:
        """Return one row of numbers for each item."""
        try:
            rows = self.model.transform(items)
        except (AttributeError, TypeError, ValueError) as error:
            expected = f"like the sample of encoder {self.name!r}"
            raise ValueError(describe("items", expected, f"others ({error})")) from error
        return rows.toarray() if hasattr(rows, "toarray") else rows


def fit_encoder(name: str, items: Any, **options: int) -> LearnedEncoder:
    """Fit an encoder on a sample, to encode all samples that are to be compared.

    Parameters
    ----------
    name : {"pca", "tfidf", "table"}
        - "pca": principal components of images or numbers; ``n_components`` of them, 50 by default, fewer where the
          sample has fewer rows or columns.
        - "tfidf": frequencies of words, weighted down where a word is common, rows of length 1; the ``max_features``
          most frequent words, 2000 by default. ``n_components`` reduces them to so many latent dimensions.
        - "table": numbers standardised, and a column for each value of a column of words.
    items : images, strings or table
        What to learn from, as `embed` takes it. Words that "tfidf" has not seen do not count.
    **options : int
        ``n_components``, ``max_features``.

    Returns
    -------
    LearnedEncoder
        Can be pickled, for the next batch.

    Raises
    ------
    TypeError
        If "tfidf" gets no strings, or another encoder gets strings.
    ValueError
        If the name or an option is unknown, or there is nothing to learn from the items.

    Examples
    --------
    >>> from shiftmetrics.adapters.embeddings import fit_encoder
    >>> encoder = fit_encoder("tfidf", ["a good film", "a bad film"])
    >>> encoder.model.get_feature_names_out().tolist(), encoder(["good good"]).round(1).tolist()
    (['bad', 'film', 'good'], [[0.0, 0.0, 1.0]])
    """
    check_choice(name, "name", tuple(LEARNERS))
    learner = LEARNERS[name]
    check_keys(options, "options", tuple(learner.__kwdefaults__ or ()), f"options of {name!r}")
    for option, value in options.items():
        check_integer(value, option, low=1)
    known = _checked(items)
    if isinstance(known, list) != (name == "tfidf"):
        expected = "a list of strings" if name == "tfidf" else "images or rows of a table"
        raise TypeError(describe("items", f"{expected} for {name!r}", type(items).__name__))
    model = learner(known, **options)
    return LearnedEncoder(name, model, f"{name} {sorted(options.items())} {_digest(known)}")


def _pixels(items: Any) -> FloatArray:
    """Return each image as a row of float64, bytes 0..255 as 0..1; numbers of a table stay as they are."""
    array = to_numpy(as_array(items, "items"))
    rows: FloatArray = to_float64(array).reshape(len(array), -1)
    return rows / 255.0 if array.dtype == np.uint8 and array.ndim > 2 else rows


def _fit_pca(items: Any, *, n_components: int = 50) -> Any:
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    pca = PCA(min(n_components, *_pixels(items).shape), random_state=0)
    return make_pipeline(FunctionTransformer(_pixels), pca).fit(items)


def _fit_tfidf(
    texts: list[str], *, max_features: int = 2000, n_components: int | None = None
) -> Any:
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    vectorizer = TfidfVectorizer(max_features=max_features)
    rows = vectorizer.fit_transform(texts)
    if n_components is None:
        return vectorizer
    projection = TruncatedSVD(min(n_components, rows.shape[1]), random_state=0).fit(rows)
    return make_pipeline(vectorizer, projection)


def _fit_table(items: Any) -> Any:
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    if not is_table(items):
        return StandardScaler().fit(items)
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include=["number", "bool"])),
        (words, make_column_selector(dtype_exclude=["number", "bool"])),
    ).fit(items)


LEARNERS: dict[str, Any] = {"pca": _fit_pca, "tfidf": _fit_tfidf, "table": _fit_table}


def embed(
    items: Any,
    *,
    encoder: Any,
    cache: EmbeddingCache | None = None,
    batch_size: int = 256,
    progress: bool = True,
) -> FloatArray:
    """Turn images, strings or rows of a table into features for novelty and for distances.

    Parameters
    ----------
    items : images, strings or table
        Images as an array of shape (n, height, width) or (n, height, width, channels); a list of strings; a
        table as a DataFrame or an array of shape (n, n_columns).
    encoder : callable
        What `fit_encoder` returns, or a function such as the method ``encode`` of a sentence transformer: it maps a
        block of items to an array of shape (n_items, n_columns).
    cache : EmbeddingCache, optional
        Keeps the embeddings, found again by the content of the items and the attribute ``identity`` of the encoder,
        a string that you change with your function.
    batch_size : int, default 256
        Items that the encoder gets at once.
    progress : bool, default True
        Whether to show a progress bar for work of more than two seconds.

    Returns
    -------
    ndarray of float64, shape (n_items, n_columns)
        A row for each item, in their order.

    Raises
    ------
    ValueError
        If there are no items, or the encoder returns another number of rows or values that are not finite, or has no
        ``identity`` for the cache.
    TypeError
        If the encoder cannot be called, or the items are not of one kind.

    See Also
    --------
    shiftmetrics.novelty.kernel_entropic_novelty : What is new in such features.

    Examples
    --------
    >>> from shiftmetrics.adapters.embeddings import embed, fit_encoder
    >>> test, reference = ["a dull film", "a bright film"], ["a dull film", "a long film"]
    >>> features = embed(test, encoder=fit_encoder("tfidf", test + reference))
    >>> features.shape
    (2, 4)
    """
    batch_size = check_integer(batch_size, "batch_size", low=1)
    if isinstance(encoder, type) or not callable(encoder):
        raise TypeError(
            describe("encoder", "a callable, such as fit_encoder returns", value=encoder)
        )
    known = _checked(items)
    if cache is None:
        return _encode(known, encoder, batch_size, progress)
    identity = getattr(encoder, "identity", None)
    if not isinstance(identity, str):
        remedy = "Set it to a name and version, or pass no cache."
        expected = "a string that names the encoder"
        raise ValueError(describe("encoder.identity", expected, value=identity, remedy=remedy))
    key = _digest([_digest(known), identity])
    features = cache.get(key)
    # a file that holds something else is computed again and replaced
    if features is None or features.ndim != 2 or len(features) != len(known):
        features = _encode(known, encoder, batch_size, progress)
        cache.put(key, features)
    return features


def _encode(items: Any, encoder: Any, batch_size: int, progress: bool) -> FloatArray:
    output = "The encoder's output"
    blocks: list[FloatArray] = []
    for start in progress_bar(progress, "embedding", over=range(0, len(items), batch_size)):
        rows = slice(start, start + batch_size)
        block = items.iloc[rows] if is_table(items) else items[rows]
        features = as_array(encoder(block), output)
        if features.ndim != 2 or features.shape[0] != len(block):
            expected = f"an array of shape ({len(block)}, n_columns)"
            raise ValueError(describe(output, expected, f"shape {tuple(features.shape)}"))
        check_finite(features, output)
        if blocks and features.shape[1] != blocks[0].shape[1]:
            expected = f"of {blocks[0].shape[1]} columns in every block"
            raise ValueError(describe(output, expected, features.shape[1]))
        blocks.append(to_float64(features))
    return np.concatenate(blocks)


@dataclass(frozen=True, eq=False, kw_only=True)
class EmbeddingCache:
    """A folder of embeddings, one file for each sample and encoder; delete files that are no longer of use.

    Parameters
    ----------
    folder : path
        Where; it need not exist yet.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> cache = EmbeddingCache(folder=tempfile.mkdtemp())
    >>> cache.put("0a", np.ones((2, 3)))
    >>> cache.get("0a").shape, cache.get("0b") is None
    ((2, 3), True)
    """

    folder: str | os.PathLike[str]

    def get(self, key: str) -> FloatArray | None:
        """Return the embeddings of this key, or None where there are none that can be read."""
        try:
            with np.load(Path(self.folder) / f"{key}.npz", allow_pickle=False) as arrays:
                return np.asarray(arrays["features"], dtype=np.float64)
        except Exception:  # each kind of damage has its own in zipfile, zlib and NumPy
            return None

    def put(self, key: str, features: FloatArray) -> None:
        """Keep embeddings; warn where the folder cannot be used."""
        folder = Path(self.folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with atomic_path(folder / f"{key}.npz") as temporary, temporary.open("wb") as file:
                np.savez(file, features=features)
        except (OSError, ValueError) as error:
            warnings.warn(f"Embeddings are not kept: {error}", stacklevel=3)


def _checked(items: Any) -> Any:
    """Return items as a list of str, a DataFrame or an array of at least two axes, one entry each."""
    if isinstance(items, str | bytes):
        raise TypeError(
            describe("items", "several items", "one string", "Put a single one into a list.")
        )
    if len(items) == 0:
        raise ValueError(describe("items", "at least one item", "none"))
    if is_table(items):
        return items
    entries = items.tolist() if getattr(items, "ndim", 0) == 1 else items
    if isinstance(entries, list | tuple) and isinstance(entries[0], str):
        for row, entry in enumerate(entries):
            if not isinstance(entry, str):
                got = f"{entry!r} at row {row}"
                remedy = "Drop or fill such rows first."
                raise TypeError(describe("items", "strings only", got, remedy))
        return list(entries)
    array = to_numpy(as_array(items, "items"))
    if array.ndim < 2:
        expected = (
            "strings, a table, or an array of shape (n, n_columns) or (n, height, width, ...)"
        )
        raise ValueError(describe("items", expected, f"shape {array.shape}"))
    return array


def _digest(items: Any) -> str:
    """Return a hash of the content of checked items, in their order."""
    import joblib

    if is_table(items):
        import pandas as pd

        # by names, dtypes and values: how a frame lies in memory does not count
        rows = pd.util.hash_pandas_object(items, index=False).to_numpy()
        items = [[str(name) for name in items], [str(kind) for kind in items.dtypes], rows]
    elif not isinstance(items, list):
        items = np.ascontiguousarray(items)
    return str(joblib.hash(items))
