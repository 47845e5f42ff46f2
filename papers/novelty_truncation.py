"""Figure 5: novelty within and between groups of classes, and of a generator whose samples are truncated.

Left: dogs of CIFAR-10 are the reference, and one to four other animals, or vehicles, the sample (features of a
ResNet-20, 240 rows). Right: a mixture of ten Gaussians, fitted to 4,000 codes of digits, draws new codes; the
factor psi shrinks draws towards the centre of their component. 300 of them against as many that it was fitted to.
"""

from functools import cache

import numpy as np
from _claims import Claim
from _experiment import data_folder, run
from _pictures import bandwidth, cifar, scores
from sklearn.mixture import GaussianMixture

DOG, GROUPS = 5, {"other animals": (3, 7, 4, 2), "vehicles": (8, 0, 1, 9)}
COUNTS = (1, 2, 3, 4)
FACTORS = (0.2, 0.4, 0.6, 0.8, 1.0)
CLAIMS = {
    "grows": Claim(
        "More new kinds are more novel, within a group and between groups.",
        "score of 4 kinds minus that of 1, the smaller of both groups, in nats",
        ">",
        0.0,
    ),
    "between": Claim(
        "Kinds of another group hold more novelty than kinds of the same group.",
        "score of vehicles minus that of other animals, mean over the number of kinds, in nats",
        ">",
        0.0,
    ),
    "flat": Claim(
        "The reversed score stays flat.",
        "largest |change from 1 to 4 kinds| of the reversed score, over the change of the score",
        "<",
        0.25,
    ),
    "truncated": Claim(
        "Truncation lowers the novelty of a generator.",
        "smallest rise of the score from one psi to the next higher, in nats",
        ">",
        0.0,
    ),
}


@cache
def generator() -> tuple[np.ndarray, GaussianMixture]:
    """Return the codes that a mixture was fitted to, and the mixture."""
    with np.load(data_folder("mnist_vae_codes") / "vae_codes.npz") as arrays:
        codes = arrays["codes20"][:4000].astype(float)
    return codes, GaussianMixture(10, random_state=0, max_iter=300, reg_covar=1e-3).fit(codes)


def by_kinds(n: int, seed: int) -> dict[str, list[list[float]]]:
    """Return the score and its reverse for each group and number of kinds."""
    pictures, rng = cifar(), np.random.default_rng(seed)
    features = pictures.features["network"]
    width = bandwidth(features)
    dogs = features[pictures.rows((DOG,), n, rng)]
    found = {}
    for group, kinds in GROUPS.items():
        samples = [features[pictures.rows(kinds[:count], n, rng)] for count in COUNTS]
        pairs = [(sample, dogs) for sample in samples], [(dogs, sample) for sample in samples]
        found[group] = [[float(scores(*pair, [width])[0]) for pair in way] for way in pairs]
    return found


def by_factor(n: int, seed: int) -> list[list[float]]:
    """Return the score of drawn codes and its reverse for each factor."""
    codes, mixture = generator()
    rng = np.random.default_rng(seed)
    reference = codes[rng.choice(len(codes), n, replace=False)]
    mixture.set_params(random_state=seed)
    drawn, component = mixture.sample(n)
    centres = mixture.means_[component]
    samples = [centres + factor * (drawn - centres) for factor in FACTORS]
    width = bandwidth(codes)
    pairs = [(sample, reference) for sample in samples], [(reference, sample) for sample in samples]
    return [[float(scores(*pair, [width])[0]) for pair in way] for way in pairs]


def measure(seed: int, quick: bool) -> dict:
    kinds = by_kinds(80 if quick else 240, seed)
    factor = by_factor(80 if quick else 300, seed)
    rises = {group: [way[-1] - way[0] for way in ways] for group, ways in kinds.items()}
    return {
        "grows": min(forward for forward, _ in rises.values()),
        "between": float(np.subtract(kinds["vehicles"][0], kinds["other animals"][0]).mean()),
        "flat": max(abs(back / forward) for forward, back in rises.values()),
        "truncated": float(np.diff(factor[0]).min()),
        "kinds": kinds,
        "factor": factor,
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    for color, group in zip(("C0", "C1"), GROUPS, strict=True):
        forward, back = np.mean([one["kinds"][group] for one in runs], axis=0)
        left.plot(COUNTS, forward, marker="o", color=color, label=group)
        left.plot(COUNTS, back, marker="o", color=color, linestyle=":", label=f"{group}, reversed")
    left.set(xlabel="new kinds", ylabel="score in nats", xticks=COUNTS, title="Reference: dogs")
    left.legend(fontsize=8)
    for name, line in zip(
        ("score", "reversed"), np.mean([one["factor"] for one in runs], axis=0), strict=True
    ):
        right.plot(FACTORS, line, marker="o", label=name)
    right.set(xlabel="factor psi", title="Drawn codes of digits, truncated")
    right.legend(fontsize=8)
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
