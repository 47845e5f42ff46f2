"""Features of images, strings and tables: three encoders that learn from a sample, any callable, and a cache."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, as_array, is_table, to_float64, to_numpy
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.files import atomic_path
from shiftmetrics._core.options import progress_bar
from shiftmetrics._core.validation import check_choice, check_finite, check_integer

ENCODERS = ("pca", "tfidf", "table")
MOST_COMPONENTS = 50
MOST_WORDS = 2000


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
            raise ArgumentValueError("items", expected, f"others ({error})") from error
        # frequencies of words are sparse
        return rows.toarray() if hasattr(rows, "toarray") else rows


def fit_encoder(name: str, items: Any, *, n_components: int | None = None) -> LearnedEncoder:
    """Fit an encoder on a sample, to encode all samples that are to be compared.

    Parameters
    ----------
    name : {"pca", "tfidf", "table"}
        - "pca": principal components of images or numbers; ``n_components`` of them, 50 by default, fewer where the
          sample has fewer rows or columns.
        - "tfidf": frequencies of words, weighted down where a word is common, rows of length 1; the 2000 most
          frequent words. ``n_components`` reduces them to so many latent dimensions.
        - "table": numbers standardised, and a column for each value of a column of words.
    items : images, strings or table
        What to learn from, as `embed` takes it. Words that "tfidf" has not seen do not count.
    n_components : int, optional
        Columns of the features; not of "table".

    Returns
    -------
    LearnedEncoder
        Can be pickled, for the next batch.

    Raises
    ------
    TypeError
        If "tfidf" gets no strings, or another encoder gets strings.
    ValueError
        If the name or ``n_components`` is out of range, or there is nothing to learn from the items.

    Examples
    --------
    >>> from shiftmetrics.adapters.embeddings import fit_encoder
    >>> encoder = fit_encoder("tfidf", ["a good film", "a bad film"])
    >>> encoder.model.get_feature_names_out().tolist(), encoder(["good good"]).round(1).tolist()
    (['bad', 'film', 'good'], [[0.0, 0.0, 1.0]])
    """
    check_choice(name, "name", ENCODERS)
    if n_components is not None:
        check_integer(n_components, "n_components", low=1)
    known = _checked(items)
    if isinstance(known, list) != (name == "tfidf"):
        expected = "a list of strings" if name == "tfidf" else "images or rows of a table"
        raise ArgumentTypeError("items", f"{expected} for {name!r}", type(items).__name__)
    if name == "pca":
        model = _pca(known, n_components or MOST_COMPONENTS)
    elif name == "tfidf":
        model = _tfidf(known, n_components)
    else:
        model = _table(known)
    return LearnedEncoder(name, model.fit(known), f"{name} {n_components} {_digest(known)}")


def _pixels(items: Any) -> FloatArray:
    """Return each image as a row of float64, bytes 0..255 as 0..1; numbers of a table stay as they are."""
    array = to_numpy(as_array(items, "items"))
    rows: FloatArray = to_float64(array).reshape(len(array), -1)
    # images are bytes; a table of bytes is one of numbers
    return rows / 255.0 if array.dtype == np.uint8 and array.ndim > 2 else rows


def _pca(items: Any, n_components: int) -> Any:
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    pca = PCA(min(n_components, *_pixels(items).shape), random_state=0)
    return make_pipeline(FunctionTransformer(_pixels), pca)


def _tfidf(texts: list[str], n_components: int | None) -> Any:
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    vectorizer = TfidfVectorizer(max_features=MOST_WORDS)
    if n_components is None:
        return vectorizer
    # no more latent dimensions than words
    n_words = len(vectorizer.fit(texts).vocabulary_)
    return make_pipeline(vectorizer, TruncatedSVD(min(n_components, n_words), random_state=0))


def _table(items: Any) -> Any:
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    if not is_table(items):
        return StandardScaler()
    # a word that the sample did not have gets zeros in all columns
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include=["number", "bool"])),
        (words, make_column_selector(dtype_exclude=["number", "bool"])),
    )


def embed(
    items: Any,
    *,
    encoder: Any,
    cache: str | os.PathLike[str] | None = None,
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
    cache : path, optional
        A folder that keeps the embeddings, one file for each sample and encoder. They are found again by the content
        of the items and the attribute ``identity`` of the encoder, a string that you change with your function.
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
        raise ArgumentTypeError("encoder", "a callable, such as fit_encoder returns", value=encoder)
    known = _checked(items)
    if cache is None:
        return _encode(known, encoder, batch_size, progress)
    identity = getattr(encoder, "identity", None)
    if not isinstance(identity, str):
        remedy = "Set it to a name and version, or pass no cache."
        expected = "a string that names the encoder"
        raise ArgumentValueError("encoder.identity", expected, value=identity, remedy=remedy)
    # a folder that cannot be made is an error before the work, not after it
    Path(cache).mkdir(parents=True, exist_ok=True)
    path = Path(cache) / f"{_digest([_digest(known), identity])}.npz"
    features = _kept(path)
    # a file that holds something else is computed again and replaced
    if features is None or features.ndim != 2 or len(features) != len(known):
        features = _encode(known, encoder, batch_size, progress)
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.savez(file, features=features)
    return features


def _kept(path: Path) -> FloatArray | None:
    """Return the embeddings of a file, or None where there are none that can be read."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return np.asarray(arrays["features"], dtype=np.float64)
    except Exception:  # each kind of damage has its own in zipfile, zlib and NumPy
        return None


def _encode(items: Any, encoder: Any, batch_size: int, progress: bool) -> FloatArray:
    output = "The encoder's output"
    blocks: list[FloatArray] = []
    for start in progress_bar(progress, "embedding", over=range(0, len(items), batch_size)):
        rows = slice(start, start + batch_size)
        # block by block, because a network on all items would not fit in memory
        block = items.iloc[rows] if is_table(items) else items[rows]
        features = as_array(encoder(block), output)
        if features.ndim != 2 or features.shape[0] != len(block):
            expected = f"an array of shape ({len(block)}, n_columns)"
            raise ArgumentValueError(output, expected, f"shape {tuple(features.shape)}")
        check_finite(features, output)
        if blocks and features.shape[1] != blocks[0].shape[1]:
            expected = f"of {blocks[0].shape[1]} columns in every block"
            raise ArgumentValueError(output, expected, features.shape[1])
        blocks.append(to_float64(features))
    return np.concatenate(blocks)


def _checked(items: Any) -> Any:
    """Return items as a list of str, a DataFrame or an array of at least two axes, one entry each."""
    if isinstance(items, str | bytes):
        raise ArgumentTypeError(
            "items", "several items", "one string", "Put a single one into a list."
        )
    if len(items) == 0:
        raise ArgumentValueError("items", "at least one item", "none")
    if is_table(items):
        return items
    # a column of a table, and an array of objects, may hold strings
    entries = items.tolist() if getattr(items, "ndim", 0) == 1 else items
    if isinstance(entries, list | tuple) and isinstance(entries[0], str):
        for row, entry in enumerate(entries):
            if not isinstance(entry, str):
                got = f"{entry!r} at row {row}"
                remedy = "Drop or fill such rows first."
                raise ArgumentTypeError("items", "strings only", got, remedy)
        return list(entries)
    array = to_numpy(as_array(items, "items"))
    if array.ndim < 2:
        expected = (
            "strings, a table, or an array of shape (n, n_columns) or (n, height, width, ...)"
        )
        raise ArgumentValueError("items", expected, f"shape {array.shape}")
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
