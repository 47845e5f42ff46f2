"""The truth that stands in the files of predictions: as typed, or by its name among equal columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shiftmetrics._core.validation import first_few
from shiftmetrics.tables.ask import AmbiguousReadingError, Complaints, PossibleReading
from shiftmetrics.tables.evidence import TableEvidence
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.roles.names import has_name_of
from shiftmetrics.tables.roles.truth import Truth


def truth_in_files(
    tables: Sequence[TableEvidence],
    rows: Sequence[Any],
    equal: set[str],
    taken: set[str],
    options: RoleOptions,
    complaints: Complaints,
) -> Truth | None:
    """Return the truth that stands in the files of predictions, typed or by its name; None where there is none."""
    if options.label is not None:
        return _typed(tables, rows, equal, options, complaints)
    # What differs between the files belongs to a model; what one file has alone may be the truth.
    found: list[tuple[TableEvidence, Any, str]] = []
    for table, part in zip(tables, rows, strict=True):
        for name in table.columns:
            is_shared = sum(name in other.columns for other in tables) > 1
            if name in taken or not has_name_of(name, "truth") or (is_shared and name not in equal):
                continue
            # A flag that is false in all rows, such as ground_truth of exports of annotations, labels none of them.
            if table.columns[name].is_bool and table.columns[name].n_distinct < 2:
                continue
            # A file that has nothing else has no truth.
            others = [other for other in table.columns if other not in taken and other != name]
            if others and name not in [one[2] for one in found]:
                found.append((table, part, name))
    if not found:
        return None
    # The first thousand rows tell two columns of labels apart. Codes beside words differ as well,
    # and are asked for: how the answers are spelled is not known before the truth is.
    distinct = {tuple(table.columns[name].taken(part)[:1000]) for table, part, name in found}
    if len(distinct) > 1:
        names = [name for _, _, name in found]
        # True labels may stand beside codes of them: one value of the one for each value of the other.
        readings = [
            PossibleReading(f"{name} holds the true labels", options.typed("--label", name))
            for name in names
        ]
        raise AmbiguousReadingError(
            f"The columns {first_few(names)} may both hold the true labels.", readings
        )
    table, part, name = found[0]
    return _of_column(table, part, name)


def _of_column(table: TableEvidence, part: Any, name: str) -> Truth:
    """Return the truth that stands in one column of a file of predictions."""
    return Truth(
        column=table.columns[name],
        places=np.arange(table.n_rows)[part],
        source=table.label,
    )


def _typed(
    tables: Sequence[TableEvidence],
    rows: Sequence[Any],
    equal: set[str],
    options: RoleOptions,
    complaints: Complaints,
) -> Truth | None:
    """Return the column that was typed, which must be equal in all files that have it."""
    name = str(options.label)
    holders = [place for place, table in enumerate(tables) if name in table.columns]
    if not holders:
        known = first_few(
            list(dict.fromkeys(name for table in tables for name in table.columns)), 8
        )
        complaints.add(
            f"{options.typed('--label', name)} must name a column of the files, which have {known}."
        )
        return None
    first = holders[0]
    if len(holders) > 1 and name not in equal:
        own = tables[first].columns[name].taken(rows[first])
        other = tables[holders[1]].columns[name].taken(rows[holders[1]])
        differs = own != other
        # A gap in one file is filled by the other.
        both = ~(_gaps(own) | _gaps(other))
        if (differs & both).any():
            row = int(np.argmax(differs & both))
            complaints.add(
                f"{options.typed('--label', name)} must be equal in both files, but holds {own[row]!r} and "
                f"{other[row]!r} in the first of {int((differs & both).sum())} rows. The answers of a model are "
                f"named with {options.typed('--prediction', name)}."
            )
            return None
    return _of_column(tables[first], rows[first], name)


def _gaps(words: Any) -> Any:
    """Return which words are missing."""
    import pandas as pd

    return np.asarray(pd.isna(words))
