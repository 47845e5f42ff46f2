"""First lines that may be names or data: the number of rows of the other files decides, else it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shiftmetrics.tables.ask import AmbiguousReadingError, PossibleReading
from shiftmetrics.tables.options import RoleOptions

if TYPE_CHECKING:
    from shiftmetrics.tables.cells import Cells


def choose_headers(cells: Sequence[Cells], options: RoleOptions, n_predictions: int) -> list[Cells]:
    """Return the cells of all files, their first lines decided by the number of rows.

    Raises
    ------
    AmbiguousReadingError
        If both are possible.
    """
    unclear = [one for one in cells if one.header == "either"]
    if not unclear:
        return list(cells)
    if options.header is not None:
        return [
            one.as_data() if one.header == "either" and options.header == "none" else one
            for one in cells
        ]
    sizes = {len(one.frame) for one in cells if one.header != "either"}
    as_names = {len(one.frame) for one in unclear}
    as_data = {size + 1 for size in as_names}
    # Files of one number of rows belong together.
    fits_names = len(sizes | as_names) == 1
    fits_data = len(sizes | as_data) == 1
    if sizes and fits_names != fits_data:
        return [one.as_data() if one.header == "either" and fits_data else one for one in cells]
    listed = " and ".join(one.name or one.argument for one in unclear)
    first = ", ".join(str(name) for name in list(unclear[0].frame.columns)[:3])
    readings = [
        PossibleReading("it is the header", options.typed("--header", "names")),
        PossibleReading("it is the first row", options.typed("--header", "none")),
    ]
    raise AmbiguousReadingError(
        f"The first line of {listed}, {first}, may be a header or a row.", readings
    )
