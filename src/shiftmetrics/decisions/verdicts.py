"""The verdicts of decisions: each word stands here once, and has at most thirteen letters."""

from __future__ import annotations

SAFE = "SAFE"
BETTER = "BETTER"
SAME = "SAME"
WORSE = "WORSE"
CANNOT_TELL = "CANNOT TELL"
"""More labels may tell; where rows depend on each other, none does."""

CHANGED = "CHANGED"
PERHAPS = "PERHAPS"
"""Weak evidence of a change that has no name yet: it alarms nobody."""
NO_CHANGE_SHOWN = "NO CHANGE SHOWN"

NO_ALARM = "NO ALARM"
MORE_ERRORS = "MORE ERRORS"

PART_IS_BETTER = "better"
PART_IS_WORSE = "worse"
NO_CLEAR_DIFFERENCE = "no clear difference"
TOO_FEW_TO_TELL = "too few to tell"

GOOD = (SAFE, BETTER, SAME, NO_CHANGE_SHOWN, NO_ALARM)
BAD = (WORSE, MORE_ERRORS)

# What is good leaves with 0; 2 is an error of the program, so that "cannot tell" has the next free code.
_EXIT_CODES = {WORSE: 1, CHANGED: 1, CANNOT_TELL: 3}


def gate_exit_code(verdict: str, allow: float | None) -> int:
    """Return 1 for more than is allowed, 3 where that cannot be told, else 0; also 0 where no limit was given."""
    return 0 if allow is None else _EXIT_CODES.get(verdict, 0)
