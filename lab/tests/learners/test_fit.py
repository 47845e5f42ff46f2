"""The loop: seeded, stops early, keeps the best, and says what is wrong."""

import numpy as np
import pandas as pd
import pytest
import torch

from shiftmetrics_lab.learners import ERM, LISA, Batch, EarlyStopping, ValidationScore, fit
from shiftmetrics_lab.learners.grid import PAPER_GRID, grid_search
from shiftmetrics_lab.learners.selection import predict_scores

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 2))
Y = (X[:, 0] + 0.3 * RNG.standard_normal(200) > 0).astype(int)


def test_the_loss_falls_and_the_rule_is_learnt(network):
    result = fit(network(), X, Y, epochs=100, optimizer=0.02, rng=0, progress=False)
    assert result.losses[-1] < 0.5 * result.losses[0]
    assert ValidationScore(criterion="accuracy", X=X, y=Y)(result.model) > 0.9
    assert len(result.losses) == 100
    assert not result.best
    assert not result.stopped
    assert not result.model.training


@pytest.mark.parametrize("batch_size", [None, 32])
def test_a_seed_gives_the_same_model_and_leaves_torch_alone(network, batch_size):
    torch.manual_seed(123)
    expected = torch.rand(3)
    torch.manual_seed(123)

    def train(seed):
        model = torch.nn.Sequential(network(), torch.nn.Dropout(0.5))
        return fit(model, X, Y, epochs=3, batch_size=batch_size, rng=seed, progress=False).losses

    np.testing.assert_array_equal(train(1), train(1))
    assert not np.array_equal(train(1), train(2))
    torch.testing.assert_close(torch.rand(3), expected)


@pytest.mark.parametrize("kind", [list, pd.DataFrame, torch.as_tensor, np.float16])
def test_inputs_of_any_kind(network, kind):
    inputs = X.tolist() if kind is list else X.astype(np.float16) if kind is np.float16 else kind(X)
    labels = pd.Series(Y) if kind is pd.DataFrame else Y.astype(bool) if kind is list else Y
    result = fit(network(), inputs, labels, epochs=2, rng=0, progress=False)
    assert np.isfinite(result.losses).all()
    assert predict_scores(result.model, inputs).shape == (200, 2)


def test_full_batches_equal_plain_gradient_descent(network):
    model, other = network(), network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    fit(model, X, Y, epochs=5, optimizer=optimizer, rng=0, progress=False)
    x, y = torch.as_tensor(X), torch.as_tensor(Y)
    for _ in range(5):
        other.zero_grad()
        torch.nn.functional.cross_entropy(other(x), y).backward()
        with torch.no_grad():
            for part in other.parameters():
                part -= 0.1 * part.grad
    for ours, plain in zip(model.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(ours, plain, rtol=1e-9, atol=1e-12)


def test_every_batch_has_its_share_of_each_domain(network):
    domain = np.repeat([0, 1, 2], [20, 60, 120])
    seen = []

    def objective(model, batch):
        seen.append(np.bincount(batch.domain, minlength=3))
        return ERM()(model, batch)

    fit(
        network(),
        X,
        Y,
        domain=domain,
        objective=objective,
        epochs=1,
        batch_size=50,
        rng=0,
        progress=False,
    )
    np.testing.assert_array_equal(np.sum(seen, axis=0), [20, 60, 120])
    np.testing.assert_allclose(seen, [[5, 15, 30]] * 4, atol=1)


def test_a_transform_sees_each_batch(network):
    domain = np.arange(200) % 2
    seen = []

    def transform(batch: Batch) -> Batch:
        seen.append((len(batch.x), batch.epoch))
        return LISA(n_classes=2)(batch)

    fit(
        network(),
        X,
        Y,
        domain=domain,
        transform=transform,
        epochs=2,
        batch_size=100,
        rng=0,
        progress=False,
    )
    assert seen == [(100, 0), (100, 0), (100, 1), (100, 1)]


def test_early_stopping_keeps_the_best_model(network):
    scores = iter([0.1, 0.5, 0.9, 0.3, 0.9, 0.2, 0.1])
    states = []

    def score(model):
        states.append({name: part.clone() for name, part in model.state_dict().items()})
        return next(scores)

    stopping = EarlyStopping(score=score, patience=3)
    result = fit(network(), X, Y, epochs=50, stopping=stopping, rng=0, progress=False)
    assert result.best["score"].epoch == 3
    assert result.stopped
    assert result.best["score"].scores == [0.1, 0.5, 0.9, 0.3, 0.9, 0.2]
    assert all(
        torch.equal(states[2][name], part) for name, part in result.model.state_dict().items()
    )


def test_one_run_keeps_the_best_model_of_each_score(network):
    shifted = X + 0.3 * np.random.default_rng(5).standard_normal(X.shape)
    scores = {
        "accuracy": ValidationScore(criterion="accuracy", X=shifted, y=Y),
        "rate": ValidationScore(criterion="agreement_rate", X_shifted=shifted, X=X),
        "agreement": ValidationScore(criterion="agreement", X_shifted=shifted, X=X),
    }
    stopping = EarlyStopping(score=scores, patience=5)
    options = {"epochs": 30, "optimizer": 0.02, "rng": 0, "progress": False}
    result = fit(network(), X, Y, stopping=stopping, **options)
    for name, score in scores.items():
        alone = fit(network(), X, Y, stopping=EarlyStopping(score=score, patience=5), **options)
        kept = result.best[name]
        result.model.load_state_dict(kept.state)
        assert score(result.model) == kept.scores[kept.epoch - 1] == max(kept.scores)
        stretch = alone.best["score"].scores  # alone it may stop earlier
        assert kept.scores[: len(stretch)] == stretch
    assert result.best["accuracy"].epoch < max(one.epoch for one in result.best.values())


def test_training_goes_on_while_any_score_gets_better_and_the_first_decides(network):
    falling, rising = iter([0.5, 0.4, 0.3, 0.2, 0.1, 0.0]), iter([0.1, 0.2, 0.3, 0.3, 0.3, 0.9])
    scores = {"falling": lambda model: next(falling), "rising": lambda model: next(rising)}
    stopping = EarlyStopping(score=scores, patience=2)
    result = fit(network(), X, Y, epochs=6, optimizer=0.1, stopping=stopping, rng=0, progress=False)
    assert result.stopped
    assert len(result.losses) == 5
    assert [one.epoch for one in result.best.values()] == [1, 3]
    for name, part in result.model.state_dict().items():
        torch.testing.assert_close(part, result.best["falling"].state[name])
        assert not torch.equal(part, result.best["rising"].state[name])


def test_agreement_scores_are_those_of_the_measure(network):
    from shiftmetrics.agreement import posterior_agreement

    model, shifted = network(), X + 0.5
    a, b = predict_scores(model, shifted), predict_scores(model, X)
    for prior in ("predicted", None):
        expected = posterior_agreement(a, b, prior=prior).value
        assert ValidationScore(criterion="agreement", X_shifted=shifted, X=X, prior=prior)(
            model
        ) == pytest.approx(expected)
    rate = np.mean(a.argmax(1) == b.argmax(1))
    assert ValidationScore(criterion="agreement_rate", X_shifted=shifted, X=X)(model) == rate


def test_the_criterion_of_a_score_follows_from_what_is_given(network):
    from sklearn.metrics import accuracy_score, f1_score, roc_auc_score

    model, shifted = network(), X + 0.5
    a, b = predict_scores(model, shifted), predict_scores(model, X)
    by_labels = ValidationScore(X=X, X_shifted=shifted, y=Y)
    f1 = f1_score(Y, a.argmax(1), average="macro")
    assert by_labels.criterion == "accuracy_and_f1"
    assert by_labels(model) == pytest.approx((accuracy_score(Y, a.argmax(1)) + f1) / 2)
    assert ValidationScore(criterion="accuracy", X=X, y=Y)(model) == accuracy_score(Y, b.argmax(1))
    ranked = ValidationScore(criterion="roc_auc", X=X, X_shifted=shifted, y=Y)(model)
    assert ranked == pytest.approx(roc_auc_score(Y, a[:, 1] - a[:, 0]))
    free = ValidationScore(X=X, X_shifted=shifted)
    assert free.criterion == "agreement_over_ceiling"
    assert 0.0 <= free(model) <= 1.0
    for arguments, message in (
        (
            {"criterion": "accuracy", "X_shifted": shifted},
            "labels must be given for the criterion 'accuracy'",
        ),
        ({"criterion": "agreement"}, "X_shifted must be given for 'agreement'"),
        ({"criterion": "vote", "X_shifted": shifted}, "for fewer than three models"),
        ({}, "X_shifted must be given for 'agreement_over_ceiling'"),
    ):
        with pytest.raises(ValueError, match=message):
            ValidationScore(X=X, **arguments)


def test_a_collapsed_model_is_not_selected():
    constant = torch.nn.Linear(2, 2, dtype=torch.float64)
    with torch.no_grad():
        constant.weight.zero_()
        constant.bias.copy_(torch.tensor([1.0, 0.0]))
    assert ValidationScore(criterion="agreement", X_shifted=X, X=X)(constant) == pytest.approx(
        0.0, abs=1e-9
    )
    assert ValidationScore(criterion="agreement", X_shifted=X, X=X, prior=None)(
        constant
    ) == pytest.approx(np.log(2))


def test_prediction_in_batches_restores_the_mode(network):
    model = torch.nn.Sequential(network(), torch.nn.Dropout(0.5)).train()
    whole = predict_scores(model, X)
    np.testing.assert_allclose(predict_scores(model, X, batch_size=7), whole, rtol=1e-12)
    assert model.training
    assert model[1].training


def test_tokens_stay_integers():
    model = torch.nn.Sequential(torch.nn.EmbeddingBag(10, 4), torch.nn.Linear(4, 2))
    tokens = torch.randint(0, 10, (8, 5))
    assert fit(model, tokens, torch.arange(8) % 2, epochs=2, rng=0, progress=False).losses.size == 2


def test_progress_can_be_switched_off(network, bars_at_once, capsys):
    fit(network(), X, Y, epochs=2, rng=0, progress=False)
    assert capsys.readouterr().err == ""
    fit(network(), X, Y, epochs=2, rng=0)
    assert "fit" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"X": np.full((200, 2), np.nan)}, ValueError, "X must be finite everywhere"),
        ({"X": X[:0], "y": Y[:0]}, ValueError, "X must be an array of at least 1 row"),
        ({"y": Y[:-1]}, ValueError, "y must be of length 200, as X, got length 199"),
        ({"domain": np.zeros(3, dtype=int)}, ValueError, "domain must be of length 200"),
        ({"domain": np.full(200, 0.5)}, TypeError, "domain must be integers"),
        ({"y": ["a"] * 200}, TypeError, "y must"),
        ({"epochs": 0}, ValueError, "epochs must be an integer at least 1"),
        ({"batch_size": 0}, ValueError, "batch_size must be an integer at least 1"),
        ({"optimizer": 0.0}, ValueError, "optimizer must be a number greater than 0"),
        ({"rng": "x"}, TypeError, "rng must be a seed"),
        (
            {"objective": lambda model, batch: model(batch.x).sum() * np.inf},
            ValueError,
            "The loss must stay finite",
        ),
    ],
)
def test_bad_input(network, arguments, error, message):
    with pytest.raises(error, match=message):
        fit(network(), **{"X": X, "y": Y, "epochs": 2, "progress": False, **arguments})


@pytest.mark.parametrize("score", ["accuracy", {}, {"accuracy": 0.5}])
def test_stopping_must_be_a_score(score):
    with pytest.raises(TypeError, match="score must be a callable"):
        EarlyStopping(score=score)


def test_grid_search_tries_all_and_keeps_the_first_best():
    tried = []

    def train(value):
        tried.append(value)
        return value

    found = grid_search(train, lambda value: min(value, 0.4), progress=False)
    assert tuple(tried) == PAPER_GRID == (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    assert found.value == found.model == 0.4
    np.testing.assert_array_equal(found.to_frame()["score"], found.scores)
    with pytest.raises(ValueError, match="score must be a number, got NaN at 0.1"):
        grid_search(train, lambda _: float("nan"), progress=False)
    with pytest.raises(ValueError, match="values must be a sequence of at least one value"):
        grid_search(train, float, [], progress=False)
