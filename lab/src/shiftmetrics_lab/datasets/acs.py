"""American Community Survey tables from the Census csv files, with the features of the stability paper."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import check_choice, check_integer
from shiftmetrics_lab.datasets import acs_codes as codes
from shiftmetrics_lab.datasets.dataset import Dataset
from shiftmetrics_lab.datasets.sources import RemoteFile, Source, locate

_RAW = {
    "income": (),
    "public_coverage": (
        "DIS",
        "ESP",
        "MIG",
        "MIL",
        "ANC",
        "NATIVITY",
        "DEAR",
        "DEYE",
        "DREM",
        "PINCP",
        "FER",
    ),
    "employment": (
        *("AGEP", "SCHL", "MAR", "RELP", "DIS", "ESP", "CIT", "MIG", "MIL", "ANC"),
        *("NATIVITY", "DEAR", "DEYE", "DREM", "SEX", "RAC1P"),
    ),
}
_NEEDED = {
    "income": (
        "SEX",
        "AGEP",
        "WKHP",
        "MAR",
        "RELP",
        "RAC1P",
        "COW",
        "OCCP",
        "SCHL",
        "PINCP",
        "PWGTP",
    ),
    "public_coverage": (
        "SEX",
        "AGEP",
        *_RAW["public_coverage"],
        "MAR",
        "RAC1P",
        "SCHL",
        "CIT",
        "ESR",
        "PUBCOV",
    ),
    "employment": (*_RAW["employment"], "ESR"),
}
_CLASSES = {
    "income": ("at most $50,000", "above $50,000"),
    "public_coverage": ("not covered", "covered"),
    "employment": ("not employed", "employed"),
}


def load_acs(
    path: str | os.PathLike[str] | None = None,
    *,
    task: str = "income",
    standardize: str = "all_but_first_two",
    domain: str = "RAC1P",
    states: tuple[str, ...] = ("CA",),
    year: int = 2018,
    download: bool = False,
    progress: bool = True,
) -> Dataset:
    """Read person records of the American Community Survey and make the features of the stability paper.

    Parameters
    ----------
    path : path, optional
        A csv or parquet file of person records, or the folder of ``folktables`` (``<year>/1-Year/psam_p06.csv``).
        Default: `data_home`.
    task : {"income", "public_coverage", "employment"}, default "income"
        See `acs_features`.
    standardize : {"all_but_first_two", "all", "none"}, default "all_but_first_two"
        See `acs_features`.
    domain : str, default "RAC1P"
        Column whose values are the domains: race, sex ("SEX"), state ("ST"), ...
    states : tuple of str, default ("CA",)
        Which states' files, when ``path`` is a folder.
    year : int, default 2018
        Survey year from 2014 to 2018 (later years lack the column RELP).
    download, progress
        Whether to download the states' files from the Census first, with progress bars. The Census publishes no
        checksums, so each file is held to the checksum of its first download.

    Returns
    -------
    Dataset
        ``X`` is a DataFrame with 76 (income), 42 (public coverage) or 16 (employment) columns.

    Raises
    ------
    FileNotFoundError
        If a file is not there.
    ValueError
        If a column is missing, or a state or year is unknown.

    Examples
    --------
    >>> load_acs("/nowhere")
    Traceback (most recent call last):
    ...
    FileNotFoundError: There is no acs data at '/nowhere'. ...
    """
    import pandas as pd

    check_choice(task, "task", tuple(_NEEDED))
    check_integer(year, "year", low=2014, high=2018)
    for state in states:
        check_choice(state, "states", tuple(codes.STATES))
    folder = f"{year}/1-Year"
    source = Source(
        name="acs",
        files=tuple(
            RemoteFile(
                url=f"https://www2.census.gov/programs-surveys/acs/data/pums/{folder}/csv_p{state.lower()}.zip",
                name=f"{folder}/csv_p{state.lower()}.zip",
            )
            for state in states
        ),
        terms="US Census Bureau, public domain",
    )
    place = locate(path, source, download=download, progress=progress)
    files = (
        [place]
        if place.is_file()
        else [_state_file(place, folder, state, year) for state in states]
    )
    frames = [_read_persons(file, {*_NEEDED[task], domain}) for file in files]
    frame = pd.concat(frames, ignore_index=True)
    X, y, kept = acs_features(frame, task=task, standardize=standardize)
    if domain not in frame.columns:
        raise ArgumentValueError("domain", f"a column of {str(files[0])!r}", value=domain)
    values, numbers = np.unique(frame[domain].to_numpy()[kept], return_inverse=True)
    return Dataset(
        name=f"ACS {task}",
        X=X,
        y=y,
        domain=numbers.astype(np.int64),
        class_names=_CLASSES[task],
        domain_names=tuple(f"{domain} {value:g}" for value in values.tolist()),
        source=f"{place} ({source.terms})",
    )


def acs_features(
    persons: Any, *, task: str = "income", standardize: str = "all_but_first_two"
) -> tuple[Any, Any, Any]:
    """Make the features and labels of a task from raw person records.

    Parameters
    ----------
    persons : DataFrame
        Person records with the Census columns.
    task : {"income", "public_coverage", "employment"}, default "income"
        - "income": does a person over 16 who works and earns over $100 earn more than $50,000? 76 features.
        - "public_coverage": is a person under 65 with at most $30,000 publicly insured? 42 features.
        - "employment": is a person employed? The 16 raw columns of the folktables task, nothing encoded.
    standardize : {"all_but_first_two", "all", "none"}, default "all_but_first_two"
        Which columns are centred and divided by their standard deviation (of the rows kept, ddof 0). The paper's
        preprocessing leaves the first two, SEX and AGEP, as they are. "employment" is never standardised.

    Returns
    -------
    X : DataFrame
        Features, float64; missing values are 0, as in the paper's preprocessing.
    y : ndarray of int64
        Labels.
    rows : ndarray of int64
        Positions in ``persons`` of the rows that the task keeps.

    Raises
    ------
    ValueError
        If a column is missing, or no row is kept.

    Notes
    -----
    Two quirks of the published preprocessing are kept, since the paper's 76 features are defined by it: legal
    occupations have no indicator of their own (they count in ``large_occp_Lg``), and
    ``schl_at_least_high_school_or_ged`` starts at the code of the GED, one above the regular diploma.

    References
    ----------
    Blanchet, Cui, Li, Liu, "Stability Evaluation through Distributional Perturbation Analysis" (arXiv:2405.03198);
    Ding, Hardt, Miller, Schmidt, "Retiring Adult" (arXiv:2108.04884).

    Examples
    --------
    >>> import pandas as pd
    >>> person = dict(SEX=1, AGEP=40, WKHP=40, MAR=1, RELP=0, RAC1P=1, COW=1, OCCP=120, SCHL=21, PINCP=6e4, PWGTP=9)
    >>> X, y, rows = acs_features(pd.DataFrame([person]), standardize="none")
    >>> X.shape, y.tolist(), X.columns[X.iloc[0] == 1].tolist()[1:4]
    ((1, 76), [1], ['married', 'relp_reference', 'race_white'])
    """
    import pandas as pd

    check_choice(task, "task", tuple(_NEEDED))
    check_choice(standardize, "standardize", ("all_but_first_two", "all", "none"))
    missing = [column for column in _NEEDED[task] if column not in persons.columns]
    if missing:
        expected = f"a table with the columns of {task!r}"
        raise ArgumentValueError("persons", expected, f"one without {', '.join(missing)}")
    raw = persons[list(_NEEDED[task])].apply(pd.to_numeric, errors="coerce")
    keep = _kept(raw, task).to_numpy()
    rows = np.flatnonzero(keep)
    if not rows.size:
        raise ArgumentValueError("persons", f"records that the task {task!r} keeps", "none")
    raw = raw.iloc[rows].reset_index(drop=True)
    if task == "income":
        features, label = _income(raw), raw["PINCP"] > 50_000
    elif task == "public_coverage":
        features, label = _public_coverage(raw), raw["PUBCOV"] == 1
    else:
        features, label = {name: raw[name] for name in _RAW[task]}, raw["ESR"] == 1
    X = pd.DataFrame(features).astype(np.float64).fillna(0.0)
    if standardize != "none" and task != "employment":
        columns = X.columns[2:] if standardize == "all_but_first_two" else X.columns
        spread = X[columns].std(ddof=0)
        X[columns] = (X[columns] - X[columns].mean()) / spread.where(spread > 0, 1.0)
    return X, label.to_numpy(dtype=np.int64), rows.astype(np.int64)


def _kept(raw: Any, task: str) -> Any:
    if task == "income":
        return (raw["AGEP"] > 16) & (raw["PINCP"] > 100) & (raw["WKHP"] > 0) & (raw["PWGTP"] >= 1)
    if task == "public_coverage":
        return (raw["AGEP"] < 65) & (raw["PINCP"] <= 30_000)
    return raw["AGEP"].notna()


def _income(raw: Any) -> dict[str, Any]:
    group = raw["OCCP"] // 100
    occupation = {name: group.between(low, high) for name, (low, high) in codes.OCCUPATION.items()}
    large = {
        f"large_occp_{size}": np.logical_or.reduce([occupation[name] for name in names])
        for size, names in codes.LARGE_OCCUPATION.items()
    }
    return {
        **{name: raw[name] for name in ("SEX", "AGEP", "WKHP")},
        **_indicators(raw["MAR"], "", codes.MARITAL, first=1),
        **_indicators(raw["RELP"], "relp_", codes.RELATION, first=0),
        **_indicators(raw["RAC1P"], "race_", codes.RACE, first=1),
        **_indicators(raw["COW"], "cow_", codes.WORKER, first=1),
        **{f"big_occp_{name}": member for name, member in occupation.items() if name != "LGL"},
        **_schooling(raw["SCHL"]),
        **large,
    }


def _public_coverage(raw: Any) -> dict[str, Any]:
    return {
        **{name: raw[name] for name in ("SEX", "AGEP", *_RAW["public_coverage"])},
        **_indicators(raw["MAR"], "", codes.MARITAL, first=1),
        **_indicators(raw["RAC1P"], "race_", codes.RACE, first=1),
        **_schooling(raw["SCHL"]),
        **_indicators(raw["CIT"], "CIT_", codes.CITIZENSHIP, first=1),
        **_indicators(raw["ESR"], "ESR_", codes.EMPLOYMENT, first=1),
    }


def _indicators(column: Any, prefix: str, names: tuple[str, ...], *, first: int) -> dict[str, Any]:
    return {f"{prefix}{name}": column == code for code, name in enumerate(names, first)}


def _schooling(column: Any) -> dict[str, Any]:
    return {
        "SCHL": column,
        "schl_at_least_bachelor": column >= 21,
        "schl_at_least_high_school_or_ged": column >= 17,
        "schl_postgrad": column >= 22,
    }


def _state_file(place: Path, folder: str, state: str, year: int) -> Path:
    """Find a state's file where folktables, or our own download, put it."""
    name = (
        f"psam_p{codes.STATES[state]}.csv"
        if year >= 2017
        else f"ss{year % 100}p{state.lower()}.csv"
    )
    for base in (place / folder, place):
        for file in (base / name, base / f"csv_p{state.lower()}" / name):
            if file.is_file():
                return file
    raise FileNotFoundError(
        f"There is no {name!r} in {str(place)!r} or its folder {folder!r}. Check the path, states and year, "
        "or pass download=True."
    )


def _read_persons(file: Path, columns: set[str]) -> Any:
    import pandas as pd

    if file.suffix == ".parquet":
        return pd.read_parquet(file)
    return pd.read_csv(file, usecols=lambda column: column in columns, skipinitialspace=True)
