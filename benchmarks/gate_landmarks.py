"""Does the gate decide on landmarks as it does on all samples? ``python benchmarks/gate_landmarks.py [--quick]``.

Of more than 1,000 samples in all the gate takes its coordinates from 1,000 of them, and of more than 3,000 its tree.
Here both are forced on samples for which the exact gate can still be computed, on the tasks of ``_novelty_tasks.py``:
small fractions are withheld, so that the decisions are not all the same. The real data are in the folder that
``SHIFTMETRICS_DATA`` names.
"""

from __future__ import annotations

import argparse
import itertools

import _novelty_tasks as tasks
import numpy as np
from _machine import table

from shiftmetrics.novelty import bandwidth
from shiftmetrics.novelty.inputs import column_units
from shiftmetrics.novelty.modes import gate, permutations, space
from shiftmetrics.novelty.score import gram, kernels

N_ROWS = 1200
"""Of each sample."""

LANDMARKS = 600
"""A quarter of all samples."""

N_PERMUTATIONS = 199
LEVEL = 0.05
FRACTIONS = (0.0, 0.02, 0.04, 0.06)
SPACES = ("mnist", "codes 20", "network", "beans", "wine colour", "occupations", "households")
MOST_KINDS = 3


def p_value(case: tasks.Case, landmarks: int, seed: int) -> float:
    """Return the smaller p-value of the gate with so many landmarks, and leaves of the tree."""
    rng = np.random.default_rng(seed)
    units = column_units((case.sample, case.reference))
    parts = [case.sample, case.reference]
    if units is not None:
        parts = [part / units for part in parts]
    width = bandwidth.bandwidth_by_rule(parts, [None, None], rng).value
    joint = gram.Gram(*parts, kernels.GaussianKernel(width))
    space.LANDMARKS = gate._TREE_ROWS = landmarks
    searched = space.SearchSpace(joint, rng=rng, memory_limit=1 << 33)
    labels = permutations.permuted_labels(joint.in_test, None, N_PERMUTATIONS, rng)
    scans = gate.Gate(searched, np.ones(joint.n_rows), rng)
    return min(gate.side_p_values(scans.statistics(np.vstack([joint.in_test, labels]))))


def cases(every: int) -> list[tasks.Case]:
    """Return the cases of all spaces: some kinds of each, at each fraction in turn."""
    found = []
    number = 0
    for name in SPACES:
        kinds = np.unique(tasks.space(name).kinds)
        for kind, fraction in itertools.product(kinds[:MOST_KINDS], FRACTIONS):
            number += 1
            if number % every == 0:
                found.append(tasks.withheld(name, (int(kind),), N_ROWS, fraction, seed=number))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="every eighth case")
    quick = parser.parse_args().quick
    lines = []
    for case in cases(8 if quick else 1)[:60]:
        # Another seed of the exact gate says how much of a difference is chance.
        n_rows = len(case.sample) + len(case.reference)
        exact = p_value(case, n_rows, 0)
        again = p_value(case, n_rows, 1)
        few = p_value(case, LANDMARKS, 0)
        lines.append([case.name, case.share, exact, again, few])
        print(lines[-1], flush=True)
    values = np.array([line[2:] for line in lines])
    said = values <= LEVEL
    print(table(["case", "new", "exact", "another seed", "landmarks"], lines, title="p-values"))
    print(
        f"landmarks decide as the exact gate in {(said[:, 0] == said[:, 2]).sum()} of {len(said)} cases,"
    )
    print(f"another seed of the exact gate in {(said[:, 0] == said[:, 1]).sum()}")


if __name__ == "__main__":
    main()
