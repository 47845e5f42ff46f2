"""The verdicts of decisions: each word stands here once."""

from __future__ import annotations

SAFE = "SAFE"
BETTER = "BETTER"
SAME = "SAME"
WORSE = "WORSE"
CANNOT_TELL_YET = "CANNOT TELL YET"
"""More labels may tell."""

CHANGED = "CHANGED"
PERHAPS = "PERHAPS"
"""Weak evidence of a change that has no name yet: it alarms nobody."""
NO_CHANGE_SHOWN = "NO CHANGE SHOWN"
CANNOT_TELL = "CANNOT TELL"
"""Rows depend on each other: no further label helps."""

NO_ALARM = "NO ALARM"
ERRORS_HAVE_RISEN = "ERRORS HAVE RISEN"
SAMPLES_HAVE_CHANGED = "THE SAMPLES HAVE CHANGED"

PART_IS_BETTER = "better"
PART_IS_WORSE = "worse"
NO_CLEAR_DIFFERENCE = "no clear difference"
TOO_FEW_TO_TELL = "too few to tell"

GOOD = (SAFE, BETTER, SAME, NO_CHANGE_SHOWN, NO_ALARM)
BAD = (WORSE, ERRORS_HAVE_RISEN)

# What is good leaves with 0; 2 is an error of the program, so that "cannot tell" has the next free code.
_EXIT_CODES = {WORSE: 1, CHANGED: 1, CANNOT_TELL_YET: 3}


def gate_exit_code(verdict: str, allow: float | None) -> int:
    """Return 1 for more than is allowed, 3 where that cannot be told, else 0; also 0 where no limit was given."""
    return 0 if allow is None else _EXIT_CODES.get(verdict, 0)
