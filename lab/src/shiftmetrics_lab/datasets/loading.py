"""Load a published data set by its name."""

from __future__ import annotations

import importlib
import os
from typing import Any

from shiftmetrics._core.validation import check_choice

LOADERS = {
    "acs": "acs.load_acs",
    "camelyon17": "wilds.load_camelyon17",
    "celeba": "wilds.load_celeba",
    "cifar10": "cifar.load_cifar10",
    "cifar10c": "cifar.load_cifar10c",
    "digits": "digits.load_digits",
    "image_folder": "wilds.load_image_folder",
    "imdb": "imdb.load_imdb",
    "mnist": "digits.load_mnist",
    "sivep": "sivep.load_sivep",
    "text_pairs": "imdb.load_text_pairs",
    "waterbirds": "wilds.load_waterbirds",
}


def load(name: str, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
    """Load a data set from a local path, or download it first.

    Parameters
    ----------
    name : str
        "acs", "camelyon17", "celeba", "cifar10", "cifar10c", "digits", "image_folder", "imdb", "mnist", "sivep",
        "text_pairs" or "waterbirds".
    path : path, optional
        Where the data lie. Default: the folder of downloads, ``$SHIFTMETRICS_HOME`` or the user's cache.
        "image_folder" and "text_pairs" need one; "digits" comes with scikit-learn and takes none.
    **options
        Of the loader of this data set, such as ``split="train"``; its page in the API lists them. Those that can be
        downloaded take ``download=True``, ``progress=False`` to hide the progress bar, and ``source`` for a mirror.

    Returns
    -------
    Dataset
        With the attributes ``X``, ``y``, ``domain`` and ``split``, row by row. "text_pairs" returns two, the edited
        strings and the originals.

    Raises
    ------
    FileNotFoundError
        If the files are not there.
    ValueError
        If the name is unknown, or a file is damaged or holds something else.
    TypeError
        If the loader of this data set does not have an option.

    Examples
    --------
    >>> data = load("digits")
    >>> data.X.shape, float(data.X.max()), len(data.class_names)
    ((1797, 8, 8), 1.0, 10)
    >>> load("waterbirds", "/nowhere")
    Traceback (most recent call last):
    ...
    FileNotFoundError: There is no waterbirds data at '/nowhere'. ...
    """
    module, function = LOADERS[check_choice(name, "name", tuple(LOADERS))].split(".")
    loader = getattr(importlib.import_module(f"shiftmetrics_lab.datasets.{module}"), function)
    return loader(**options) if path is None else loader(path, **options)
