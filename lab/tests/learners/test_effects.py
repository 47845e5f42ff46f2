"""Each learner does what it is for: over five seeds, the interval of the paired difference says so."""

import numpy as np
import pytest
import torch

from shiftmetrics.stability import FixedLoss, LogisticLoss, stability_criterion
from shiftmetrics_lab.datasets import load, make_spurious_feature
from shiftmetrics_lab.learners import (
    ERM,
    IRM,
    LISA,
    Adversarial,
    NetworkClassifier,
    ValidationScore,
    fit,
)
from shiftmetrics_lab.learners.selection import predict_scores

SEEDS = range(5)
pytestmark = pytest.mark.slow


def linear(n_inputs, seed):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return torch.nn.Linear(n_inputs, 2, dtype=torch.float64)


def margins(model, X, y):
    """Return the margins of a linear model and the weights of its margin."""
    weights = (model.weight[1] - model.weight[0]).detach().numpy()
    bias = float((model.bias[1] - model.bias[0]).detach())
    return (2 * y - 1) * (X @ weights + bias), weights


def robust_and_fragile_features(n_samples, rng):
    """One feature of scale 1, and ten that predict better together but within small distances."""
    y = rng.integers(0, 2, n_samples)
    sign = 2 * y - 1
    X = rng.standard_normal((n_samples, 11))
    X[:, 0] += sign
    X[:, 1:] = 0.2 * X[:, 1:] + 0.1 * sign[:, None]
    return X, y


def test_irm_ignores_a_feature_that_flips(network, paired_interval):
    gains = []
    for seed in SEEDS:
        train = make_spurious_feature(1000, flips=(0.1, 0.3), rng=seed)
        test = make_spurious_feature(2000, flips=(0.9,), rng=100 + seed)
        erm, irm = (
            ValidationScore(criterion="accuracy", X=test.X, y=test.y)(
                fit(
                    network(seed=seed),
                    train.X,
                    train.y,
                    domain=train.domain,
                    objective=objective,
                    epochs=200,
                    optimizer=0.02,
                    rng=seed,
                    progress=False,
                ).model
            )
            for objective in (ERM(), IRM(penalty=300.0, warmup=40))
        )
        gains.append(irm - erm)
    assert paired_interval(gains)[0] > 0.2


def digits_on_backgrounds(rows, share, rng):
    """Digits below or from five, on a dark or a grey ground that goes with the label in a share of them."""
    data = load("digits")
    y = (data.y[rows] >= 5).astype(int)
    ground = np.where(rng.random(len(y)) < share, y, 1 - y)
    return 0.7 * data.X[rows] + 0.3 * ground[:, None, None], y, ground


@pytest.mark.parametrize("within_domain", [0.0, 0.5])
def test_lisa_washes_out_the_domain(network, paired_interval, within_domain):
    gains = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        rows = rng.permutation(1797)
        X, y, ground = digits_on_backgrounds(rows[:1000], 0.95, rng)
        X_test, y_test, ground_test = digits_on_backgrounds(rows[1000:], 0.5, rng)
        worst = []
        for transform in (None, LISA(n_classes=2, within_domain=within_domain)):
            model = network(64, units=32, seed=seed)
            fit(
                model,
                X,
                y,
                domain=ground,
                transform=transform,
                epochs=40,
                batch_size=100,
                optimizer=5e-3,
                rng=seed,
                progress=False,
            )
            right = predict_scores(model, X_test).argmax(axis=1) == y_test
            worst.append(
                min(
                    right[(y_test == a) & (ground_test == b)].mean() for a in (0, 1) for b in (0, 1)
                )
            )
        gains.append(worst[1] - worst[0])
    assert paired_interval(gains)[0] > 0.05


def test_penalty_training_is_more_stable_at_equal_clean_risk(paired_interval):
    risks, gains = [], []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        (X, y), (X_test, y_test) = (robust_and_fragile_features(n, rng) for n in (400, 2000))

        def evaluate(model, X=X_test, y=y_test):
            margin, weights = margins(model, X, y)
            stability = stability_criterion(
                LogisticLoss(margin, float(np.linalg.norm(weights))), 1.0
            ).value
            return float(np.logaddexp(0, -margin).mean()), stability

        robust = linear(11, seed)
        objective = Adversarial(penalty=0.3, n_steps=10)
        fit(robust, X, y, objective=objective, epochs=150, optimizer=0.05, rng=seed, progress=False)
        risk, stability = evaluate(robust)
        # The point on the path of plain training whose clean risk is nearest.
        plain = linear(11, seed)
        optimizer, path = torch.optim.Adam(plain.parameters(), lr=0.01), []
        for _ in range(60):
            fit(plain, X, y, epochs=1, optimizer=optimizer, rng=seed, progress=False)
            path.append(evaluate(plain))
        plain_risk, plain_stability = min(path, key=lambda point: abs(point[0] - risk))
        risks.append(risk - plain_risk)
        gains.append(stability - plain_stability)
    low, high = paired_interval(risks)
    assert low > -0.01
    assert high < 0.01
    assert paired_interval(gains)[0] > 0.02


def test_targeted_training_protects_its_feature_and_spares_the_rest(paired_interval):
    target, gains, spared = 2, [], []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        samples = []
        for n_samples in (400, 2000):
            y = rng.integers(0, 2, n_samples)
            noise, means = np.array([1.0, 0.2, 0.5, 1.0]), np.array([1.0, 0.25, 0.4, 0.0])
            samples.append(
                (noise * rng.standard_normal((n_samples, 4)) + np.outer(2 * y - 1, means), y)
            )
        (X, y), (X_test, y_test) = samples
        stability, error = [], []
        for objective in (
            ERM(),
            Adversarial(penalty=0.3, n_steps=10, features=(target,)),
            Adversarial(penalty=0.3, n_steps=10),
        ):
            model = linear(4, seed)
            fit(
                model,
                X,
                y,
                objective=objective,
                epochs=150,
                optimizer=0.05,
                rng=seed,
                progress=False,
            )
            margin, weights = margins(model, X_test, y_test)
            stability.append(
                stability_criterion(LogisticLoss(margin, abs(float(weights[target]))), 1.0).value
            )
            error.append(np.mean(margin < 0))
        gains.append(stability[1] - stability[0])
        spared.append(error[2] - error[1])
    assert paired_interval(gains)[0] > 0.05
    assert paired_interval(spared)[0] > 0.02


@pytest.mark.parametrize("options", [{"temperature": 1.0}, {"tilt": 1.0}])
def test_tilting_serves_the_worst_subpopulation(paired_interval, options):
    minority, stability = [], []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)

        def draw(n_samples, rng=rng):
            group, y = (rng.random(n_samples) < 0.1).astype(int), rng.integers(0, 2, n_samples)
            X = rng.standard_normal((n_samples, 2))
            X[np.arange(n_samples), group] += 2.0 * (
                2 * y - 1
            )  # each group has its own telling feature
            return X, y, group

        (X, y, _), (X_test, y_test, group) = draw(1000), draw(4000)
        losses = []
        for objective in (None, ERM(**options)):
            model = NetworkClassifier(
                hidden_units=(),
                objective=objective,
                epochs=150,
                learning_rate=0.05,
                random_state=seed,
            )
            probabilities = model.fit(X, y).predict_proba(X_test)
            losses.append(-np.log(probabilities[np.arange(len(y_test)), y_test]))
        minority.append(losses[0][group == 1].mean() - losses[1][group == 1].mean())
        plain, tilted = (
            stability_criterion(FixedLoss(part), 1.0, theta1=np.inf).value for part in losses
        )
        stability.append(tilted - plain)
    assert paired_interval(minority)[0] > 0.02
    assert paired_interval(stability)[0] > 0.02
