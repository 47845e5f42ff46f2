"""Decisions against the simple rival: ``python benchmarks/decisions.py [novelty] [agreement] [stability] [diff]``.

Each measure's part judges what a user concludes from its result (what is new, which model to take, which column to
fear) beside what the same user would have concluded without it. Real data are read from the folder that
``SHIFTMETRICS_DATA`` names; without it the tasks are scikit-learn's sets. ``--quick`` takes few tasks.
"""

from __future__ import annotations

import argparse
import importlib

PARTS = ("diff", "audit", "novelty", "agreement", "stability")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help="all parts by default")
    parser.add_argument("--quick", action="store_true", help="few tasks, to see that it runs")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.parts) - set(PARTS))
    if unknown:
        parser.error(f"unknown part {unknown[0]!r}; there are {', '.join(PARTS)}")
    for part in arguments.parts or PARTS:
        module = importlib.import_module(f"_{part}_decisions")
        module.main(quick=arguments.quick)


if __name__ == "__main__":
    main()
