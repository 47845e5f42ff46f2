"""Film reviews: the IMDB folders of text files, and tables that pair each review with an edited version."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import IntArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import check_choice
from shiftmetrics_lab.datasets.dataset import Dataset
from shiftmetrics_lab.datasets.sources import IMDB, Source, find, locate

_CLASSES = ("negative", "positive")


def load_imdb(
    path: str | os.PathLike[str] | None = None,
    *,
    split: str = "test",
    download: bool = False,
    progress: bool = True,
    source: Source = IMDB,
) -> Dataset:
    """Read the IMDB reviews: 25,000 training and 25,000 test strings, half of them positive.

    Parameters
    ----------
    path : path, optional
        The folder ``aclImdb``, or one that holds it. Default: `data_home`.
    split : {"test", "train"}, default "test"
        Which part.
    download, progress, source
        Whether to download into ``path`` first, with progress bars, and from where.

    Returns
    -------
    Dataset
        ``X`` is a list of strings as published (with their ``<br />``), in the order of the file names.

    Raises
    ------
    FileNotFoundError
        If the folders are not there.

    References
    ----------
    Maas et al., "Learning Word Vectors for Sentiment Analysis" (ACL 2011).

    Examples
    --------
    >>> load_imdb("/nowhere")
    Traceback (most recent call last):
    ...
    FileNotFoundError: There is no imdb data at '/nowhere'. ...
    """
    check_choice(split, "split", ("test", "train"))
    place = locate(path, source, download=download, progress=progress)
    folder = find(place, split)
    texts: list[str] = []
    labels: list[int] = []
    for label, name in enumerate(("neg", "pos")):
        files = sorted((folder / name).glob("*.txt"), key=_review_number)
        if not files:
            raise FileNotFoundError(
                f"There are no text files in {str(folder / name)!r}. Check the path."
            )
        texts.extend(file.read_text(encoding="utf-8") for file in files)
        labels.extend([label] * len(files))
    return Dataset(
        name=f"IMDB ({split})",
        X=texts,
        y=np.asarray(labels, dtype=np.int64),
        class_names=_CLASSES,
        source=f"{folder} ({source.terms})",
    )


def load_text_pairs(
    path: str | os.PathLike[str],
    *,
    edited: str = "revised",
    original: str = "original",
    split: str | None = None,
) -> tuple[Dataset, Dataset]:
    """Read strings and their edited versions, row by row: a shifted sample and its reference.

    Parameters
    ----------
    path : path
        A parquet, csv or tsv table with columns ``text_<version>`` and ``label_<version>``, and perhaps ``split``.
    edited, original : str, default "revised" and "original"
        The two versions.
    split : str, optional
        Keep the rows of this split only.

    Returns
    -------
    shifted, reference : Dataset
        The edited strings and the originals; row ``i`` of both is one pair.

    Raises
    ------
    FileNotFoundError
        If the table is not there.
    ValueError
        If it lacks a column, or the split has no rows.

    Examples
    --------
    >>> import pandas as pd, pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "pairs.csv"
    >>> pd.DataFrame(dict(text_original=["good"], label_original=[1], text_revised=["bad"], label_revised=[0])
    ...              ).to_csv(file)
    >>> shifted, reference = load_text_pairs(file)
    >>> shifted.X, reference.X
    (['bad'], ['good'])
    """
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"There is no table {str(file)!r}. Check the path.")
    frame = _read_table(file)
    needed = [f"{part}_{version}" for version in (edited, original) for part in ("text", "label")]
    missing = [name for name in needed if name not in frame.columns]
    if missing:
        expected = f"one with columns {', '.join(needed)}"
        raise ArgumentValueError(f"The table {str(file)!r}", expected, f"one without {missing}")
    if split is not None:
        if "split" not in frame.columns or not (frame["split"] == split).any():
            known = sorted(set(frame["split"])) if "split" in frame.columns else "no such column"
            raise ArgumentValueError("split", f"one of {known}", value=split)
        frame = frame[frame["split"] == split]
    splits = np.asarray(frame["split"].astype(str)) if "split" in frame.columns else None
    shifted, reference = (
        Dataset(
            name=f"{file.stem} ({version})",
            X=frame[f"text_{version}"].astype(str).tolist(),
            y=_labels(frame[f"label_{version}"]),
            split=splits,
            class_names=_CLASSES,
            source=str(file),
        )
        for version in (edited, original)
    )
    return shifted, reference


def _read_table(file: Path) -> Any:
    import pandas as pd

    if file.suffix == ".parquet":
        return pd.read_parquet(file)
    return pd.read_csv(file, sep="\t" if ".tsv" in file.suffixes else ",")


def _labels(column: Any) -> IntArray:
    """Return integer labels; the words negative and positive, as published tables spell them, are 0 and 1."""
    values = column.tolist()
    if all(isinstance(value, str) for value in values):
        words = [value.strip().lower() for value in values]
        unknown = sorted(set(words) - set(_CLASSES))
        if unknown:
            raise ArgumentValueError(
                f"Column {column.name!r}", "negative or positive", value=unknown[0]
            )
        return np.asarray([_CLASSES.index(word) for word in words], dtype=np.int64)
    return np.asarray(values, dtype=np.int64)


def _review_number(file: Path) -> tuple[int, str]:
    """Sort by the number in names like ``12_7.txt``; other names follow in alphabetical order."""
    number = file.stem.partition("_")[0]
    return (int(number), file.stem) if number.isdigit() else (1 << 62, file.stem)
