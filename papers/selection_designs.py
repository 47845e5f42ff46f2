"""Which values of a factor occur with which digit (figure 12), and the environments of experiments 6 and 7.

Rows are sevens, fours and nines, columns three values of the hue or the position. What a design withholds in training
is what test sets 1 to 5 show.
"""

import numpy as np
from _claims import Claim
from _experiment import run
from _factor_models import DIGITS

from shiftmetrics_lab.shifts.factors import ENVIRONMENTS
from shiftmetrics_lab.shifts.factors.designs import DESIGNS, co_occurrence, co_occurrence_samples
from shiftmetrics_lab.shifts.factors.environments import FactorSample

FACTORS = ("hue", "position")
PAIRS = {"SD": 0, "ID": 1, "1F-MD": 1, "5F-MD": 5, "OOD": 1}
CLAIMS = {
    "shortcut": Claim(
        "Without overlap (ZGO) the factor alone gives the digit.",
        "accuracy of guessing the digit by the factor, in drawn training data, smaller of the two factors",
        ">=",
        1.0,
    ),
    "none": Claim(
        "With all combinations (ZSO) it tells nothing.",
        "the same accuracy minus the share of the most frequent digit, larger of the two factors",
        "<",
        0.05,
    ),
    "order": Claim(
        "From ZGO over 1-, 2- and 3-CGO to ZSO the factor tells less and less.",
        "largest rise of the accuracy from one design to the next, over both factors",
        "<",
        0.0,
    ),
    "withheld": Claim(
        "Test sets 1 to 5 show what training withheld, up to 3-CGO.",
        "share of drawn test pictures whose digit and factor occur together in training",
        "<=",
        0.0,
    ),
    "pairs": Claim(
        "Pairs of validation differ in no factor (SD), in one (ID, 1F-MD, OOD) or in five (5F-MD).",
        "largest difference from that number, over the pairs and both factors",
        "<=",
        0.0,
    ),
}


def combinations(samples: tuple[FactorSample, FactorSample], factor: str) -> list[tuple[int, str]]:
    return [
        pair
        for one in samples
        for pair in zip(one.labels.tolist(), one.factors[factor], strict=True)
    ]


def guessed(samples: tuple[FactorSample, FactorSample], factor: str) -> float:
    """Return how often the digit that goes most often with a value is right."""
    counts: dict[str, dict[int, int]] = {}
    for digit, value in combinations(samples, factor):
        counts.setdefault(value, {}).setdefault(digit, 0)
        counts[value][digit] += 1
    best = sum(max(by_digit.values()) for by_digit in counts.values())
    return best / sum(len(one.labels) for one in samples)


def most_frequent(samples: tuple[FactorSample, FactorSample]) -> float:
    labels = np.concatenate([one.labels for one in samples])
    return float(np.bincount(labels).max() / len(labels))


def measure(seed: int, quick: bool) -> dict:
    rows = np.random.default_rng(seed).permutation(len(DIGITS.y))[: 300 if quick else 900]

    def drawn(factor: str, design: str, environment: int) -> tuple[FactorSample, FactorSample]:
        return co_occurrence_samples(
            DIGITS.X, DIGITS.y, design, learning_factor=factor, environment=environment, instances=rows,
            size=32, rng=seed, progress=False,
        )  # fmt: skip

    accuracy, seen, chance = {}, [], []
    for factor in FACTORS:
        training = {design: drawn(factor, design, 0) for design in DESIGNS}
        accuracy[factor] = [guessed(samples, factor) for samples in training.values()]
        chance.append(accuracy[factor][-1] - most_frequent(training["ZSO"]))
        for design in list(DESIGNS)[:-1]:
            known = set(combinations(training[design], factor))
            tests = combinations(drawn(factor, design, 1), factor)
            seen.append(np.mean([pair in known for pair in tests]))
    apart = [
        abs(len(one.differences(other)) - count)
        for factor in FACTORS
        for name, count in PAIRS.items()
        for one, other in [ENVIRONMENTS[f"{factor} validation {name}"]]
    ]
    return {
        "shortcut": min(accuracy[factor][0] for factor in FACTORS),
        "none": max(chance),
        "order": float(max(np.diff(accuracy[factor]).max() for factor in FACTORS)),
        "withheld": float(np.mean(seen)),
        "pairs": max(apart),
        "accuracy": accuracy,
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, len(DESIGNS), figsize=(11, 5), layout="constrained")
    for row, factor in zip(axes, FACTORS, strict=True):
        values = co_occurrence("ZSO", learning_factor=factor)[7]
        for place, (ax, design) in enumerate(zip(row, DESIGNS, strict=True)):
            pattern = co_occurrence(design, learning_factor=factor)
            first, _ = co_occurrence_samples(
                DIGITS.X, DIGITS.y, design, learning_factor=factor, instances=range(200), size=32, rng=0,
                progress=False,
            )  # fmt: skip
            board = np.full((3 * 34, 3 * 34, 3), 255, dtype=np.uint8)
            for i, (digit, occurring) in enumerate(pattern.items()):
                for value in occurring:
                    j = values.index(value)
                    found = (first.labels == digit) & (np.array(first.factors[factor]) == value)
                    board[34 * i + 1 : 34 * i + 33, 34 * j + 1 : 34 * j + 33] = first.images[found][
                        0
                    ]
            told = np.mean([one["accuracy"][factor][place] for one in runs])
            ax.imshow(board)
            ax.set_title(f"{design}: {factor} tells {told:.0%}", fontsize=9)
            ax.set_xticks([17, 51, 85], values, fontsize=8)
            ax.set_yticks([17, 51, 85], [str(digit) for digit in pattern])
            ax.tick_params(length=0)
            ax.grid(visible=False)
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
