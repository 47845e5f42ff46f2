"""Pictures for the report: arrays of images given as features, or beside them."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftmetrics.tools.cli.readers import read_source
from shiftmetrics.tools.cli.samples import Sample
from shiftmetrics.tools.cli.sources import parse_source
from shiftmetrics.views.report import is_image_batch


def flatten_images(sample: Sample) -> Any:
    """Turn images given as features into rows of pixels, in place, and return the images; else None.

    Raises
    ------
    ValueError
        If the array has three or more axes and is no batch of images.
    """
    values = sample.values
    if np.ndim(values) < 3:
        return None
    if not is_image_batch(values):
        raise ValueError(
            f"{sample.source.argument} must have shape (n_samples, n_features), or (n_samples, height, "
            f"width) for images, got {np.shape(values)}. Choose leading axes, such as "
            f"{sample.source.example}."
        )
    sample.values = np.asarray(values).reshape(len(values), -1)
    size = " x ".join(str(side) for side in np.shape(values)[1:])
    sample.notes.append(f"{sample.source.argument} holds images of {size}; its features are their pixels.")
    return values


def read_images(text: str, option: str, sample: Sample) -> Any:
    """Read one picture for each row of ``sample``.

    Raises
    ------
    ValueError
        If the file does not hold as many images.
    """
    pictures = read_source(parse_source(text, option))
    if hasattr(pictures, "columns") or not is_image_batch(pictures):
        raise ValueError(f"{option} must hold images of shape (n_samples, height, width), got {text!r}.")
    if len(pictures) != len(sample.values):
        raise ValueError(
            f"{option} must have a picture for each row of {sample.source.argument}, got "
            f"{len(pictures)} for {len(sample.values)} rows."
        )
    flatten_images(sample)
    return pictures
