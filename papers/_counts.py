"""Tables of counts below the training methods: what was picked, what is out of reach, and who is ahead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from _prices import METHODS, PRICES, ahead

Run = Mapping[str, Any]


def income(record: Mapping[str, Any]) -> str:
    """Return the table of `stability_income`."""
    return by_price([one["values"] for one in record["runs"]])


def infinity(record: Mapping[str, Any]) -> str:
    """Return the table of `stability_infinity`: a row for each temperature."""
    runs = record["runs"]
    picked = Counter(str(one["temperature"]) for one in runs)
    lines = [
        "| temperature | picked by validation | R at theta = (inf, 0.2), median (range) |",
        "|---|---|---|",
    ]
    for name in runs[0]["tilted"]:
        spread = _spread([one["tilted"][name] for one in runs])
        lines.append(f"| {name} | in {picked[name]} of {len(runs)} seeds | {spread} |")
    hundred = [one["tilted_hundred"] for one in runs if one["out_of_reach"]]
    if hundred:
        prices = f"{min(hundred):.3g} to {max(hundred):.3g}"
        lines.append(
            f"\nWhere the picked network is out of reach, theta1 = 100 gives an R of {prices}."
        )
    return "\n".join([*lines, ""])


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
