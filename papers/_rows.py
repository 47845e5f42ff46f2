"""The rows of the pages: a claim, what its document prints, what we measured, and the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from index import REMARKS, Entry

NO_NUMBER = "-"
UNTESTABLE = "not testable here"
OTHER_SIZE = "not at the printed size"
VERDICTS = ("holds", OTHER_SIZE, "does not hold", "undecided", UNTESTABLE)
HEAD = ("| Claim | Printed | Measured | n, seeds | Verdict | Why |", "|---|---|---|---|---|---|")
NATURAL = (0.0, 1.0)
"""Bounds that need no source: no difference, and a ratio or a correlation of 1."""

NO_REMARK = {
    "main": False,
    "kind": "",
    "printed": "",
    "why": "",
    "was": "",
    "changed": "",
    "source": "",
}


def claims_of(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the claims of an experiment with what the remarks say about them."""
    remarks = REMARKS.get(record["script"], {})
    for key, claim in record["claims"].items():
        found = {**NO_REMARK, **claim, **remarks.get(key, {}), "values": _values(record, key)}
        # A number without any variance is a definition, or might as well be one.
        constant = claim["low"] is not None and claim["low"] == claim["high"]
        if "untestable" in found:
            found |= {"verdict": UNTESTABLE, "why": found["untestable"]}
        elif constant:
            found["kind"] = found["kind"] or "check"
        if found["verdict"] in ("holds", "undecided") and leaves_out(claim, found.get("size")):
            direction = (
                f"the direction {'holds' if claim['verdict'] == 'holds' else 'is undecided'}"
            )
            reason = f"{direction}; the printed size is {_size(found['size'])}"
            why = "" if found["verdict"] == "holds" else found["why"]
            found |= {"verdict": OTHER_SIZE, "why": f"{reason}; {why}" if why else reason}
        if found["verdict"] == "holds":
            found["why"] = ""
        yield found


def _values(record: Mapping[str, Any], key: str) -> list[Any]:
    return [one.get(key) for one in record["runs"]]


def leaves_out(claim: Mapping[str, Any], size: float | list[float] | None) -> bool:
    """Return whether the interval of a claim leaves out the number, or the range, that is printed."""
    if size is None or claim["low"] is None:
        return False
    low, high = size if isinstance(size, list) else (size, size)
    return bool(claim["high"] < low or claim["low"] > high)


def _size(size: float | list[float]) -> str:
    return f"{size[0]:g} to {size[1]:g}" if isinstance(size, list) else f"{size:g}"


def bound_in_words(claim: Mapping[str, Any]) -> str:
    """Return what is claimed; where the bound has no source, for which bounds the verdict would be which."""
    text = f"claimed {claim['relation']} {claim['bound']:g}"
    if counted(claim) and claim["bound"] == 0.5:
        return text  # more seeds than not
    if claim["source"]:
        return f"{text} ({claim['source']})"
    if abs(claim["bound"]) in NATURAL or claim["low"] is None or claim["kind"]:
        return text
    return f"{text}; the bound is ours: {_region(claim)}"


def counted(claim: Mapping[str, Any]) -> bool:
    """Return whether each seed says yes or no."""
    values = claim.get("values", [])
    return bool(values) and all(isinstance(value, bool) for value in values)


def _region(claim: Mapping[str, Any]) -> str:
    """Return for which bounds a claim would hold, and for which it would not."""
    low, high = claim["low"], claim["high"]
    if claim["relation"] == "within":
        text = f"holds for any margin above {max(abs(low), abs(high)):.3g}"
        least = max(low, -high, 0.0)
        return f"{text}, for none below {least:.3g}" if least else text
    if claim["relation"].startswith("<"):
        return f"holds for any above {high:.3g}, for none below {low:.3g}"
    return f"holds for any below {low:.3g}, for none above {high:.3g}"


def row(claim: Mapping[str, Any], entry: Entry, record: Mapping[str, Any], sentence: str) -> str:
    """Return a row of Markdown."""
    interval = "" if claim["low"] is None else f" [{claim['low']:.3g}, {claim['high']:.3g}]"
    against = f", against {claim['rival']}" if claim.get("rival") else ""
    found = f"{claim['mean']:.3g}"
    if counted(claim):
        found = f"{sum(claim['values'])} of {len(claim['values'])} seeds, {found}"
    measured = f"{found}{interval}: {claim['statistic']}; {bound_in_words(claim)}{against}"
    words = f"**{sentence}**" if claim["main"] else sentence
    verdict = f"**{claim['verdict']}**"
    if claim["kind"]:
        verdict = f"*{claim['kind']}*: {claim['verdict']}"
    size = f"{entry.size}, {len(record['runs'])} seeds"
    printed = claim["printed"] or NO_NUMBER
    cells = (words, printed, measured, size, verdict, claim["why"])
    return f"| {' | '.join(cell(text) for text in cells)} |"


def cell(text: str) -> str:
    """Return a text that may stand in a table."""
    return text.replace("|", r"\|")
