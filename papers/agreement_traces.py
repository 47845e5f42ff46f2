"""The gradient search for beta of the papers: its traces, and where it ends beside the certified maximum.

Bernoulli classifiers with N = 100 rows: a random one, whose two samples agree in half of the rows, and a robust one,
whose samples agree in 95. The confidence gap is the difference of the two scores of a row. Adam takes steps of 0.1
on beta.
"""

import numpy as np
from _claims import Claim
from _experiment import run

from shiftmetrics import Computing, posterior_agreement
from shiftmetrics_lab.published import posterior_agreement_adam

ROWS = 100
GAPS = (0.5, 1.0, 2.0, 4.0)
STARTS = (0.1, 0.5, 1.0, 2.0, 4.0)
QUIET = Computing(progress=False)
CLAIMS = {
    "faster": Claim(
        "The wider the confidence gap of a random classifier, the faster the search reaches beta* = 0.",
        "steps until beta < 0.1 at gap 4 minus those at gap 0.5",
        "<",
        0.0,
    ),
    "starts": Claim(
        "The search of a robust classifier ends at one beta from every start.",
        "spread of the last beta over five starts",
        "<",
        0.05,
    ),
    "unbounded": Claim(
        "For two copies of one sample beta grows without bound.",
        "beta after 500 steps over beta after 250",
        ">",
        1.0,
    ),
    "concave": Claim(
        "The agreement is concave in beta, so it has one maximum (Theorem 3).",
        "local maxima for margins of 50, 1 and one contradiction of 10",
        "<=",
        1.0,
    ),
    "found": Claim(
        "The gradient search finds the maximum.",
        "certified maximum minus what Adam finds, on mixed margins, in nats",
        "<",
        0.001,
    ),
    "same_sample": Claim(
        "For two copies of one sample the agreement ranks models by their confidence.",
        "certified agreement of a confident minus a hesitant model, in nats",
        ">",
        0.0,
    ),
}


def margins(*groups: tuple[int, float, bool]) -> tuple[np.ndarray, np.ndarray]:
    """Return paired scores of two classes: per group its rows, its margin and whether the pairs agree."""
    one = np.concatenate([np.full(rows, margin) for rows, margin, _ in groups])
    sign = np.concatenate([np.full(rows, 1.0 if agree else -1.0) for rows, _, agree in groups])
    return np.stack([one, -one], axis=1) / 2, np.stack([sign * one, -sign * one], axis=1) / 2


def bernoulli(gap: float, agreeing: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return paired scores of a classifier whose samples agree in some rows, with noise on the gap."""
    one = np.where(rng.random(ROWS) < 0.5, 1.0, -1.0) * gap * rng.uniform(0.8, 1.2, ROWS)
    other = one * np.where(rng.permutation(ROWS) < agreeing, 1.0, -1.0)
    return np.stack([one, -one], axis=1) / 2, np.stack([other, -other], axis=1) / 2


def search(pair: tuple[np.ndarray, np.ndarray], beta0: float = 1.0, epochs: int = 500):
    return posterior_agreement_adam(*pair, beta0=beta0, epochs=epochs, computing=QUIET)


def measure(seed: int, quick: bool) -> dict:
    rng = np.random.default_rng(seed)
    random = {gap: search(bernoulli(gap, ROWS // 2, rng)).trace_beta for gap in GAPS}
    steps = {gap: int(np.argmax(np.append(trace, 0.0) < 0.1)) for gap, trace in random.items()}
    robust = bernoulli(2.0, 95, rng)
    starts = [search(robust, beta0).trace_beta for beta0 in STARTS]
    confident, hesitant = bernoulli(4.0, ROWS, rng)[0], bernoulli(0.5, ROWS, rng)[0]
    same = search((confident, confident)).trace_beta
    several = margins((100, 50.0, True), (60, 1.0, True), (1, 10.0, False))
    betas = np.logspace(-2, 1, 300)
    curve = np.array([posterior_agreement(*several, beta=beta).value for beta in betas])
    trap = margins((100, 100.0, True), (60, 1.0, True), (4, 10.0, False))
    return {
        "faster": steps[GAPS[-1]] - steps[GAPS[0]],
        "starts": float(np.ptp([trace[-1] for trace in starts])),
        "unbounded": float(same[-1] / same[249]),
        "concave": int(((curve[1:-1] > curve[:-2]) & (curve[1:-1] > curve[2:])).sum()),
        "found": posterior_agreement(*trap).value - search(trap).value,
        "same_sample": posterior_agreement(confident, confident).value
        - posterior_agreement(hesitant, hesitant).value,
        **(
            {"random": list(random.values()), "robust": starts, "curve": curve} if seed == 0 else {}
        ),
    }


def draw(runs: list[dict]):
    from matplotlib import pyplot

    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(10.5, 3.2), layout="constrained")
    for gap, trace in zip(GAPS, runs[0]["random"], strict=True):
        left.plot(trace, label=f"gap {gap:g}")
    for beta0, trace in zip(STARTS, runs[0]["robust"], strict=True):
        middle.plot(trace, label=f"from {beta0:g}")
    right.plot(np.logspace(-2, 1, 300), runs[0]["curve"])
    left.set(xlabel="step", ylabel="beta", title="Random classifier", xlim=(0, 100))
    middle.set(xlabel="step", ylabel="beta", title="Robust classifier")
    right.set(
        xscale="log", xlabel="beta", ylabel="agreement (nats)", title="Two maxima", ylim=(0.3, 0.5)
    )
    left.legend()
    middle.legend()
    return figure


if __name__ == "__main__":
    run(__file__, CLAIMS, measure, draw, seeds=10)
