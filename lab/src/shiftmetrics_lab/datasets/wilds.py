"""Image folders with a table of metadata, as the WILDS benchmark packs them: waterbirds, celebA, camelyon17."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import IntArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import check_choice
from shiftmetrics.adapters.images import ImageFiles
from shiftmetrics_lab.datasets.dataset import Dataset
from shiftmetrics_lab.datasets.sources import CAMELYON17, CELEBA, WATERBIRDS, Source, find, locate

_SPLITS = {0: "train", 1: "val", 2: "test"}


def load_image_folder(
    path: str | os.PathLike[str],
    *,
    file: str,
    label: str,
    domain: str | None = None,
    split: str | None = None,
    split_names: Mapping[Any, str] | None = None,
    table: str = "metadata.csv",
    class_names: tuple[str, ...] = (),
    domain_names: tuple[str, ...] = (),
    name: str = "images",
) -> Dataset:
    """Read a folder of image files that a csv table describes, one row for each image.

    Parameters
    ----------
    path : path
        The folder that holds the table.
    file, label, domain, split : str
        Columns of the table: file name inside the folder, label, domain and split. The last two may be left out.
    split_names : mapping, optional
        Names of the values in the split column. Default: 0 "train", 1 "val", 2 "test"; names stay as they are.
    table : str, default "metadata.csv"
        Name of the table.
    class_names, domain_names : tuple of str
        Names of labels and domains. Default: the sorted values of their columns.
    name : str, default "images"
        Name of the data set.

    Returns
    -------
    Dataset
        ``X`` is an `ImageFiles`: images are read when asked for.

    Raises
    ------
    FileNotFoundError
        If the table, or the first image it names, is not there.
    ValueError
        If the table lacks a column.

    Examples
    --------
    >>> load_image_folder("/nowhere", file="img_filename", label="y")
    Traceback (most recent call last):
    ...
    FileNotFoundError: There is no 'metadata.csv' in '/nowhere' or its folders. Check the path.
    """
    place = find(Path(path), table)
    frame = _read_table(place, [column for column in (file, label, domain, split) if column])
    y, class_names = _codes(frame[label], class_names)
    domains, domain_names = (None, ()) if domain is None else _codes(frame[domain], domain_names)
    return _image_dataset(
        name=name,
        images=ImageFiles(place.parent, frame[file].astype(str).tolist()),
        y=y,
        domain=domains,
        split=None if split is None else _named(frame[split], split_names or _SPLITS),
        class_names=class_names,
        domain_names=domain_names,
        source=str(place.parent),
    )


def load_waterbirds(
    path: str | os.PathLike[str] | None = None,
    *,
    download: bool = False,
    progress: bool = True,
    source: Source = WATERBIRDS,
) -> Dataset:
    """Read waterbirds: land and water birds pasted on land and water backgrounds; the domain is the background.

    Parameters
    ----------
    path : path, optional
        The folder with ``metadata.csv``. Default: `data_home`.
    download, progress, source
        Whether to download into ``path`` first, with progress bars, and from where.

    Returns
    -------
    Dataset
        ``X`` is an `ImageFiles`; splits "train", "val" and "test".

    Raises
    ------
    FileNotFoundError
        If the files are not there.

    References
    ----------
    Sagawa et al., "Distributionally Robust Neural Networks" (ICLR 2020, arXiv:1911.08731).

    Examples
    --------
    >>> load_waterbirds("/nowhere")
    Traceback (most recent call last):
    ...
    FileNotFoundError: There is no waterbirds data at '/nowhere'. ...
    """
    return load_image_folder(
        locate(path, source, download=download, progress=progress),
        file="img_filename",
        label="y",
        domain="place",
        split="split",
        class_names=("landbird", "waterbird"),
        domain_names=("land", "water"),
        name="waterbirds",
    )


def load_celeba(
    path: str | os.PathLike[str] | None = None,
    *,
    domain: str = "label",
    download: bool = False,
    progress: bool = True,
    source: Source = CELEBA,
) -> Dataset:
    """Read celebA as a task of hair colour: blond or not.

    Parameters
    ----------
    path : path, optional
        The folder with ``list_attr_celeba.csv``, ``list_eval_partition.csv`` and ``img_align_celeba``.
        Default: `data_home`.
    domain : {"label", "gender"}, default "label"
        What tells the domains apart: the label, as in the thesis on posterior agreement, or the attribute "Male",
        as in the benchmark.
    download, progress, source
        Whether to download into ``path`` first, with progress bars, and from where.

    Returns
    -------
    Dataset
        ``X`` is an `ImageFiles`; splits "train", "val" and "test".

    Raises
    ------
    FileNotFoundError
        If the files are not there.
    ValueError
        If a table lacks a column, or the tables differ in length.

    References
    ----------
    Liu et al., "Deep Learning Face Attributes in the Wild" (ICCV 2015, arXiv:1411.7766).

    Examples
    --------
    >>> load_celeba("/nowhere")
    Traceback (most recent call last):
    ...
    FileNotFoundError: There is no celeba data at '/nowhere'. ...
    """
    check_choice(domain, "domain", ("label", "gender"))
    place = locate(path, source, download=download, progress=progress)
    table = find(place, "list_attr_celeba.csv")
    attributes = _read_table(table, ["image_id", "Blond_Hair", "Male"])
    partition = _read_table(table.with_name("list_eval_partition.csv"), ["partition"])
    if len(partition) != len(attributes):
        raise ValueError(
            f"The tables of {str(table.parent)!r} must have as many rows, got {len(attributes)} and {len(partition)}."
        )
    y = (attributes["Blond_Hair"].to_numpy() == 1).astype(np.int64)
    male = (attributes["Male"].to_numpy() == 1).astype(np.int64)
    class_names = ("not blond", "blond")
    return _image_dataset(
        name="celebA",
        images=ImageFiles(
            table.parent / "img_align_celeba", attributes["image_id"].astype(str).tolist()
        ),
        y=y,
        domain=y if domain == "label" else male,
        split=_named(partition["partition"], _SPLITS),
        class_names=class_names,
        domain_names=class_names if domain == "label" else ("female", "male"),
        source=str(table.parent),
    )


def load_camelyon17(
    path: str | os.PathLike[str] | None = None,
    *,
    download: bool = False,
    progress: bool = True,
    source: Source = CAMELYON17,
) -> Dataset:
    """Read camelyon17: tumour or no tumour in patches of lymph nodes; the domain is the hospital.

    Parameters
    ----------
    path : path, optional
        The folder with ``metadata.csv`` and ``patches``. Default: `data_home`.
    download, progress, source
        Whether to download into ``path`` first (10 GB), with progress bars, and from where.

    Returns
    -------
    Dataset
        ``X`` is an `ImageFiles`; splits "train", "id_val", "val" (hospital 1) and "test" (hospital 2).

    Raises
    ------
    FileNotFoundError
        If the files are not there.
    ValueError
        If the table lacks a column.

    References
    ----------
    Koh et al., "WILDS: A Benchmark of in-the-Wild Distribution Shifts" (ICML 2021, arXiv:2012.07421).

    Examples
    --------
    >>> load_camelyon17("/nowhere")
    Traceback (most recent call last):
    ...
    FileNotFoundError: There is no camelyon17 data at '/nowhere'. ...
    """
    place = find(locate(path, source, download=download, progress=progress), "metadata.csv")
    columns = ["patient", "node", "x_coord", "y_coord", "tumor", "center", "split"]
    frame = _read_table(place, columns, dtype={"patient": str})
    files = [
        f"patches/patient_{patient}_node_{node}/patch_patient_{patient}_node_{node}_x_{x}_y_{y}.png"
        for patient, node, x, y in frame[columns[:4]].itertuples(index=False, name=None)
    ]
    hospital = frame["center"].to_numpy(dtype=np.int64)
    split = np.where(frame["split"].to_numpy() == 0, "train", "id_val")
    split = np.where(
        hospital == 1, "val", np.where(hospital == 2, "test", split)
    )  # whole hospitals are held out
    return _image_dataset(
        name="camelyon17",
        images=ImageFiles(place.parent, files),
        y=frame["tumor"].to_numpy(dtype=np.int64),
        domain=hospital,
        split=split,
        class_names=("no tumor", "tumor"),
        domain_names=tuple(f"hospital {number}" for number in range(int(hospital.max()) + 1)),
        source=str(place.parent),
    )


def _read_table(path: Path, columns: list[str], **options: Any) -> Any:
    import pandas as pd

    if not path.is_file():
        raise FileNotFoundError(f"There is no table {str(path)!r}. Check the path.")
    frame = pd.read_csv(path, **options)
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        expected = f"one with columns {', '.join(columns)}"
        got = f"one without {', '.join(missing)}"
        raise ArgumentValueError(f"The table {str(path)!r}", expected, got)
    return frame


def _image_dataset(*, images: ImageFiles, **parts: Any) -> Dataset:
    """Assemble a data set after a look at the first image: a wrong folder should show at once."""
    if len(images) and not images[0].is_file():
        raise FileNotFoundError(
            f"The table names {str(images[0])!r}, which is missing. Extract the images beside it."
        )
    return Dataset(X=images, **parts)


def _codes(column: Any, names: tuple[str, ...]) -> tuple[IntArray, tuple[str, ...]]:
    """Return integer codes and their names; columns of integers that already have names stay as they are."""
    if names:
        return column.to_numpy(dtype=np.int64), names
    values, codes = np.unique(column.to_numpy(), return_inverse=True)
    return codes.astype(np.int64), tuple(str(value) for value in values)


def _named(column: Any, names: Mapping[Any, str]) -> Any:
    return np.asarray([names.get(value, str(value)) for value in column.tolist()])
