"""COVID-19 hospital patients in Brazil (SIVEP-Gripe): the mortality task of the stability paper."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import check_choice
from shiftmetrics_lab.datasets.dataset import Dataset
from shiftmetrics_lab.datasets.sources import SIVEP, Source, locate

_LABEL = "is_dead"
_LEAK = "Days_hospital_to_outcome"
_CODES = {
    "Ethnicity": ("Mixed", "White", "Black", "East Asian", "Indigenous"),
    "Region": ("Central-West", "North", "Northeast", "South", "Southeast"),
    "Sex": ("female", "male"),
}


def load_sivep(
    path: str | os.PathLike[str] | None = None,
    *,
    one_hot: bool = True,
    domain: str = "Region",
    download: bool = False,
    progress: bool = True,
    source: Source = SIVEP,
) -> Dataset:
    """Read 6,882 COVID-19 patients: who died, from age, sex, ethnicity, region, symptoms and comorbidities.

    The column ``Days_hospital_to_outcome`` is dropped: it leaks the outcome.

    Parameters
    ----------
    path : path, optional
        The csv file (gzipped or not), or its folder. Default: `data_home`.
    one_hot : bool, default True
        Whether ethnicity and region become five 0/1 columns each, which makes the 29 features that the paper
        counts. With False they stay codes and there are 21 features.
    domain : {"Region", "Ethnicity", "Sex"}, default "Region"
        What tells the domains apart.
    download, progress, source
        Whether to download into ``path`` first, with progress bars, and from where.

    Returns
    -------
    Dataset
        ``X`` is a DataFrame of float64; ``y`` is 1 for death.

    Raises
    ------
    FileNotFoundError
        If the file is not there.
    ValueError
        If it lacks a column, or holds a code outside the documented ones.

    References
    ----------
    Baqui et al., Lancet Global Health 2020, doi:10.1016/S2214-109X(20)30285-0.

    Examples
    --------
    >>> load_sivep("/nowhere")
    Traceback (most recent call last):
    ...
    FileNotFoundError: There is no sivep data at '/nowhere'. ...
    """
    import pandas as pd

    check_choice(domain, "domain", tuple(_CODES))
    place = locate(path, source, download=download, progress=progress)
    file = _csv_in(place) if place.is_dir() else place
    frame = pd.read_csv(file)
    missing = [name for name in (_LABEL, "Age", *_CODES) if name not in frame.columns]
    if missing:
        raise ArgumentValueError(
            f"The file {str(file)!r}", "the SIVEP-Gripe table", f"one without {missing}"
        )
    for name, values in _CODES.items():
        if not frame[name].isin(range(len(values))).all():
            got = f"{sorted(set(frame[name]))[:8]}"
            raise ArgumentValueError(f"Column {name!r}", f"codes 0 to {len(values) - 1}", got)
    X = frame.drop(columns=[_LABEL, *frame.columns.intersection([_LEAK])]).astype(np.float64)
    if one_hot:
        for name in ("Ethnicity", "Region"):
            X = X.drop(columns=name).assign(
                **{
                    f"{name}_{value}": (frame[name] == code).astype(np.float64)
                    for code, value in enumerate(_CODES[name])
                }
            )
    return Dataset(
        name="SIVEP-Gripe",
        X=X,
        y=frame[_LABEL].to_numpy(dtype=np.int64),
        domain=frame[domain].to_numpy(dtype=np.int64),
        class_names=("survived", "died"),
        domain_names=_CODES[domain],
        source=f"{file} ({source.terms})",
    )


def _csv_in(folder: Path) -> Path:
    files = sorted([*folder.glob("*.csv"), *folder.glob("*.csv.gz")])
    if len(files) != 1:
        raise FileNotFoundError(
            f"There must be one csv file in {str(folder)!r}, got {len(files)}. Give its path."
        )
    return files[0]
