"""Encoders that learn from a sample: principal components, TF-IDF and standardised tables."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, as_array, is_table, to_float64, to_numpy
from shiftmetrics._core.validation import check_choice, check_integer, check_keys, describe


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
    items : images, texts or table
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
        If "tfidf" gets no texts, or another encoder gets texts.
    ValueError
        If the name or an option is unknown, or there is nothing to learn from the items.

    Examples
    --------
    >>> encoder = fit_encoder("tfidf", ["a good film", "a bad film"])
    >>> encoder.model.get_feature_names_out().tolist(), encoder(["good good"]).round(1).tolist()
    (['bad', 'film', 'good'], [[0.0, 0.0, 1.0]])
    """
    import sklearn

    check_choice(name, "name", tuple(LEARNERS))
    learner = LEARNERS[name]
    check_keys(options, "options", tuple(learner.__kwdefaults__ or ()), f"options of {name!r}")
    for option, value in options.items():
        check_integer(value, option, low=1)
    known = check_items(items)
    if isinstance(known, list) != (name == "tfidf"):
        expected = "a list of texts" if name == "tfidf" else "images or rows of a table"
        raise TypeError(describe("items", f"{expected} for {name!r}", type(items).__name__))
    model = learner(known, **options)
    identity = (
        f"{name} {sorted(options.items())} scikit-learn {sklearn.__version__} {digest(known)}"
    )
    return LearnedEncoder(name, model, identity)


def _pixels(items: Any) -> FloatArray:
    """Return each image as a row of float64, bytes 0..255 as 0..1; numbers of a table stay as they are."""
    array = to_numpy(as_array(items, "items"))
    is_bytes = array.dtype == np.uint8 and array.ndim > 2
    rows: FloatArray = to_float64(array).reshape(len(array), -1)
    return rows / 255.0 if is_bytes else rows


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


def check_items(items: Any) -> Any:
    """Return items as a list of str, a DataFrame or an array of at least two axes, one entry each.

    Raises
    ------
    TypeError
        If ``items`` is a single text, or some entries are texts and others are not.
    ValueError
        If there are none, or an array has one axis.
    """
    if isinstance(items, str | bytes):
        raise TypeError(
            describe("items", "several items", "one text", "Put a single text into a list.")
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
                raise TypeError(
                    describe("items", "texts only", got, "Drop or fill such rows first.")
                )
        return list(entries)
    array: npt.NDArray[Any] = to_numpy(as_array(items, "items"))
    if array.ndim < 2:
        expected = "texts, a table, or an array of shape (n, n_columns) or (n, height, width, ...)"
        raise ValueError(describe("items", expected, f"shape {array.shape}"))
    return array


def digest(items: Any) -> str:
    """Return a SHA-256 of the content of checked items, in their order."""
    sha = hashlib.sha256()
    if isinstance(items, list):
        for text in items:
            encoded = text.encode("utf-8", "surrogatepass")
            # the length of each text sets ["ab", "c"] apart from ["a", "bc"]
            sha.update(len(encoded).to_bytes(8, "little"))
            sha.update(encoded)
    elif is_table(items):
        import pandas as pd

        sha.update(repr([(name, str(items[name].dtype)) for name in items.columns]).encode())
        sha.update(pd.util.hash_pandas_object(items, index=False).to_numpy().tobytes())
    else:
        sha.update(f"{items.dtype.str} {items.shape}".encode())
        sha.update(np.ascontiguousarray(items).tobytes())
    return sha.hexdigest()
