"""Agreement of clusterings: scores are minus squared distances to the centres; the peak tells the number of clusters.

400 objects lie in five clouds in the plane and are measured twice, each time with the noise of its cloud. Centres are
those of k-means on the first measurement. Buhmann's criterion counts clusterings of the sizes that were found, which
is agreement with the prior of the predictions; with a uniform prior every further centre adds to the count.
"""

import numpy as np
from _claims import Claim
from _experiment import run
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

from shiftmetrics import posterior_agreement

CLUSTERS = 5
COUNTS = tuple(range(2, 11))
PRIORS = ("predicted", "uniform")
CLAIMS = {
    "peak": Claim(
        "Agreement is highest at the true number of clusters.",
        "|number of centres at the peak minus 5|, prior of the predictions",
        "<",
        0.5,
    ),
    "peak_uniform": Claim(
        "It is with a uniform prior as well, as the definition is printed.",
        "|number of centres at the peak minus 5|, uniform prior",
        "<",
        0.5,
    ),
    "falls": Claim(
        "Too many centres lower it: they split clouds by their noise.",
        "agreement at 5 minus at 10 centres, prior of the predictions, in nats",
        ">",
        0.0,
    ),
    "rises": Claim(
        "Too few centres lower it: they tell less.",
        "agreement at 5 minus at 4 centres, prior of the predictions, in nats",
        ">",
        0.0,
    ),
    "beta": Claim(
        "Past the true number the posterior must be softer: beta falls.",
        "log beta at 10 minus at 5 centres, prior of the predictions",
        "<",
        0.0,
    ),
}


def measure(seed: int, quick: bool) -> dict:
    rng = np.random.default_rng(seed)
    angles = 2 * np.pi * np.arange(CLUSTERS) / CLUSTERS
    centres = 4.0 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    objects = centres[rng.integers(CLUSTERS, size=100 if quick else 400)]
    first, second = (objects + rng.normal(size=objects.shape) for _ in range(2))
    value = {prior: [] for prior in PRIORS}
    beta = []
    for count in COUNTS:
        found = KMeans(count, n_init=10, random_state=seed).fit(first).cluster_centers_
        scores = [-cdist(points, found, "sqeuclidean") for points in (second, first)]
        results = {prior: posterior_agreement(*scores, prior=prior) for prior in PRIORS}
        for prior, result in results.items():
            value[prior].append(result.value)
        beta.append(float(np.log(np.clip(results["predicted"].beta, 1e-3, 1e3))))
    peak = {prior: COUNTS[int(np.argmax(row))] for prior, row in value.items()}
    right = COUNTS.index(CLUSTERS)
    predicted = value["predicted"]
    return {
        "peak": abs(peak["predicted"] - CLUSTERS),
        "peak_uniform": abs(peak["uniform"] - CLUSTERS),
        "falls": predicted[right] - predicted[-1],
        "rises": predicted[right] - predicted[right - 1],
        "beta": beta[-1] - beta[right],
        "value": value,
        "points": first.tolist() if seed == 0 else [],
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    left.scatter(*np.array(runs[0]["points"]).T, s=8)
    left.set(title="First measurement", aspect="equal")
    for prior in PRIORS:
        table = np.array([one["value"][prior] for one in runs])
        label = "prior of the predictions" if prior == "predicted" else "uniform prior"
        right.errorbar(
            COUNTS, table.mean(axis=0), table.std(axis=0), marker="o", capsize=2, label=label
        )
    right.axvline(CLUSTERS, color="0.6", linestyle="--", linewidth=1)
    right.set(xlabel="number of centres", ylabel="agreement (nats)", title="Five clouds")
    right.legend()
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
