"""The verdicts of decisions: each word stands here once."""

from __future__ import annotations

SAFE = "SAFE"
BETTER = "BETTER"
SAME = "SAME"
WORSE = "WORSE"
CANNOT_TELL_YET = "CANNOT TELL YET"
"""More labels may tell."""

CHANGED = "CHANGED"
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
