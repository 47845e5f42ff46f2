"""Bootstrap intervals of posterior agreement: all draws at once against solving each draw from scratch.

Both take the same draws. The second route is timed on a few of them, and its time multiplied; the largest
difference of the two values over these draws is printed beside the ratio.
"""

from __future__ import annotations

import numpy as np
from _machine import best_of, header, table

from shiftmetrics import Resampling, posterior_agreement
from shiftmetrics._core.confidence import BootstrapWeights

N_RESAMPLES = 1000
N_SOLVED = 10


def main() -> None:
    print(header())
    rows = []
    for n_samples, n_classes in ((1000, 10), (10_000, 10), (10_000, 100)):
        rng = np.random.default_rng(0)
        reference = 3.0 * rng.normal(size=(n_samples, n_classes))
        scores = reference + 2.0 * rng.normal(size=reference.shape)
        draws = BootstrapWeights(n_samples, N_RESAMPLES, 0)
        weights = np.concatenate(
            [draws.weights(block)[:N_SOLVED] for block in range(len(draws.blocks))], axis=1
        )

        def interval(scores: np.ndarray = scores, reference: np.ndarray = reference) -> np.ndarray:
            result = posterior_agreement(
                scores,
                reference,
                resampling=Resampling(confidence_level=0.95, n_resamples=N_RESAMPLES, rng=0),
            )
            return result.resampled

        def solve(
            scores: np.ndarray = scores,
            reference: np.ndarray = reference,
            weights: np.ndarray = weights,
        ) -> np.ndarray:
            return np.array(
                [posterior_agreement(scores, reference, sample_weight=own).value for own in weights]
            )

        apart = float(np.abs(interval()[:N_SOLVED] - solve()).max())
        at_once = best_of(interval)
        scratch = best_of(solve, repeats=2) * N_RESAMPLES / N_SOLVED
        rows.append([n_samples, n_classes, at_once, scratch, scratch / at_once, f"{apart:.1e}"])
    columns = (
        "rows",
        "classes",
        "at once (s)",
        "from scratch (s)",
        "ratio",
        "largest difference (nats)",
    )
    print(table(columns, rows, title=f"\n{N_RESAMPLES:,} bootstrap draws, beta found anew in each"))


if __name__ == "__main__":
    main()
