"""Tables of counts below the training methods: what was picked, what is out of reach, and who is ahead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from _prices import METHODS, PRICES, ahead

Run = Mapping[str, Any]


def income(record: Mapping[str, Any]) -> str:
    """Return the tables of `stability_income`: one of the methods, one of the prices."""
    runs = record["runs"]
    if "penalties" not in runs[0]:
        return ""
    lines = [
        "| method | penalty picked by validation (seeds) | accuracy there, best minus worst penalty |"
    ]
    lines.append("|---|---|---|")
    for method in METHODS[1:]:
        picked = Counter(one["penalties"][method] for one in runs)
        cells = ", ".join(f"{penalty:g} ({n})" for penalty, n in sorted(picked.items()))
        spread = [max(one["scores"][method]) - min(one["scores"][method]) for one in runs]
        lines.append(f"| {method} | {cells} | {100 * np.mean(spread):.1f} points |")
    return "\n".join([*lines, "", by_price([one["values"] for one in runs])])


def training(record: Mapping[str, Any]) -> str:
    """Return a table for each model of `stability_training`."""
    runs = [one["values"] for one in record["runs"]]
    parts = [f"{name}:\n\n{by_price([one[name] for one in runs])}" for name in runs[0]]
    return "\n".join(parts)


def by_price(values: Sequence[Mapping[str, Sequence[float | None]]]) -> str:
    """Return medians of R, how often the threshold is out of reach, and who is ahead, at each price."""
    head = ["theta1, theta2"]
    head += [f"R of {method}, median (range)" for method in METHODS]
    head += ["AT over ERM", "tilted over ERM", "tilted over AT"]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    n_prices = len(values[0]["ERM"])
    for place, (theta1, theta2) in enumerate(PRICES[:n_prices]):
        at_price = {name: [one[name][place] for one in values] for name in METHODS}
        cells = [f"{theta1:g}, {theta2:g}", *(_spread(at_price[name]) for name in METHODS)]
        for one, other in (("AT", "ERM"), ("tilted", "ERM"), ("tilted", "AT")):
            pairs = zip(at_price[one], at_price[other], strict=True)
            cells.append(f"{sum(ahead(*pair) for pair in pairs)} of {len(values)}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _spread(found: Sequence[float | None]) -> str:
    """Return the median and the range of what is in reach, and in how many seeds nothing is."""
    there = [value for value in found if value is not None]
    missing = len(found) - len(there)
    text = f"out of reach in {missing} of {len(found)}" if missing else ""
    if not there:
        return text
    numbers = f"{np.median(there):.3g} ({min(there):.3g} to {max(there):.3g})"
    return f"{numbers}; {text}" if text else numbers
