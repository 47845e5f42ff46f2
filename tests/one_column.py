"""One column in several files: lists are text as written, series are typed."""

import pandas as pd

from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.kinds import decide_kinds


def column_in_files(name, *columns):
    """Return Cells for each column."""
    files = []
    for place, column in enumerate(columns):
        is_typed = isinstance(column, pd.Series)
        values = column if is_typed else pd.Series(column, dtype=object)
        written = frozenset() if is_typed else frozenset([name])
        table = pd.DataFrame({name: values})
        files.append(
            Cells(argument=f"F{place}", name=f"f{place}.csv", table=table, written=written)
        )
    return files


def decided(*columns, name="x", **options):
    """Return the kind of a column, its values in each file, and all that was decided."""
    typed = decide_kinds(column_in_files(name, *columns), **options)
    values = [
        frame[name].astype(object).where(frame[name].notna(), None).tolist()
        for frame in typed.frames
    ]
    return typed.kinds[name].kind, values, typed
