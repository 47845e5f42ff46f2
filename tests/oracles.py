"""Slow, obvious implementations to test against: loops and textbook formulas, nothing shared with ``src``."""

# --- posterior agreement ---------------------------------------------------------------------------------


# --- stability -------------------------------------------------------------------------------------------


# --- novelty ---------------------------------------------------------------------------------------------


# --- shifts ----------------------------------------------------------------------------------------------


def levenshtein(first: str, second: str) -> int:
    """Return the smallest number of insertions, deletions and replacements from one text to the other."""
    table = [[max(i, j) for j in range(len(second) + 1)] for i in range(len(first) + 1)]
    for i, a in enumerate(first, start=1):
        for j, b in enumerate(second, start=1):
            table[i][j] = min(
                table[i - 1][j] + 1,  # delete a
                table[i][j - 1] + 1,  # insert b
                table[i - 1][j - 1] + (a != b),  # keep, or replace a by b
            )
    return table[-1][-1]
