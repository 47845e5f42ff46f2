"""What somebody said of an alarm that was seen and accepted."""

from __future__ import annotations

from dataclasses import dataclass

from shiftmetrics._core.record import Record


@dataclass(frozen=True, eq=False, kw_only=True)
class Acknowledgement(Record):
    """A note on alarms that were raised: what they told is known, and later news is looked for beyond it.

    Attributes
    ----------
    note : str
        What the change is, such as "new station".
    batch : int
        The last batch before it was acknowledged.
    alarms : tuple of str
        The names of the alarms that were raised.
    """

    note: str
    batch: int
    alarms: tuple[str, ...]

    def sentence(self) -> str:
        """Return the note in one sentence."""
        kinds = {"errors" if name == "errors" else "samples" for name in self.alarms}
        what = " and ".join(sorted(kinds))
        return f"Acknowledged after batch {self.batch} ({what}): {self.note}."
