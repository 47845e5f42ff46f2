"""Regressions compared: the criteria by hand, what they foretell, coverage of their intervals, and refusals."""

import numpy as np
import pytest
from scipy import stats

from shiftmetrics import Resampling
from shiftmetrics.comparison import compare_regressions


def models(seed: int, n_samples: int = 300, n_models: int = 8):
    """Return labels, predictions before and after a shift, and the errors after it."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n_samples)
    before, after, errors = {}, {}, []
    for m in range(n_models):
        name = f"model {m}"
        before[name] = y + rng.uniform(0.3, 0.5) * rng.normal(size=n_samples)
        after[name] = before[name] + rng.uniform(0.0, 0.8) * rng.normal(size=n_samples)
        errors.append(float(np.mean((after[name] - y) ** 2)))
    return y, before, after, errors


def test_chained_mse_is_the_error_before_plus_the_change() -> None:
    y, before, after, _ = models(0)
    known = np.where(np.arange(300) < 100, y, np.nan)
    comparison = compare_regressions(after, before, labels=known)
    for model in comparison.models:
        mse = np.mean((before[model.name][:100] - y[:100]) ** 2)
        change = np.mean((after[model.name] - before[model.name]) ** 2)
        assert model.value == pytest.approx(mse + change)
        assert model.secondary_metrics["mse"] == pytest.approx(mse)
        assert model.secondary_metrics["mean_squared_change"] == pytest.approx(change)
    values = [model.value for model in comparison.models]
    assert values == sorted(values)


def test_intervals_rest_on_the_samples_whose_error_is_known() -> None:
    y, before, _, _ = models(2, n_samples=8)
    known = {name: np.append(column, np.zeros(500)) for name, column in before.items()}
    labels = np.append(y, np.full(500, np.nan))
    few = compare_regressions(before, before, labels=y)
    many = compare_regressions(known, known, labels=labels)
    for model, other in zip(few.models, many.models, strict=True):
        assert (model.name, model.interval.low) == (other.name, pytest.approx(other.interval.low))
        assert model.interval.high == pytest.approx(other.interval.high)


def test_labels_of_samples_without_weight_are_none() -> None:
    y, before, after, _ = models(0, n_samples=20)
    labels = np.where(np.arange(20) < 5, y, np.nan)
    weight = (np.arange(20) >= 5).astype(float)
    with pytest.raises(ValueError, match="labels") as caught:
        compare_regressions(after, before, labels=labels, sample_weight=weight)
    assert caught.value.argument == "labels"


def test_consensus_is_the_distance_to_the_median() -> None:
    _, before, after, _ = models(1)
    comparison = compare_regressions(after, before)
    median = np.median(np.stack(list(after.values())), axis=0)
    for model in comparison.models:
        assert model.value == pytest.approx(np.mean((after[model.name] - median) ** 2))
    assert "consensus" in comparison.summary()


def test_both_foretell_the_error_after_the_shift_better_than_the_error_before() -> None:
    found: dict[str, list[float]] = {"chained": [], "consensus": [], "mse": []}
    for seed in range(20):
        y, before, after, errors = models(seed)
        chained = compare_regressions(after, before, labels=y)
        consensus = compare_regressions(after, before)
        for name, comparison in (("chained", chained), ("consensus", consensus)):
            values = {model.name: model.value for model in comparison.models}
            rank = stats.spearmanr([values[name] for name in before], errors).statistic
            found[name].append(rank)
        mse = [np.mean((before[name] - y) ** 2) for name in before]
        found["mse"].append(stats.spearmanr(mse, errors).statistic)
    means = {name: np.mean(ranks) for name, ranks in found.items()}
    assert means["chained"] > 0.9
    assert means["consensus"] > 0.8
    assert means["mse"] < means["consensus"]


def test_equal_models_tie_and_better_ones_are_separated() -> None:
    rng = np.random.default_rng(2)
    y = rng.normal(size=500)
    alike = {name: y + 0.3 * rng.normal(size=500) for name in "abc"}
    tied = compare_regressions(alike, alike, labels=y)
    assert tied.status.code == "tied"
    apart = {"good": y + 0.1 * rng.normal(size=500), "bad": y + 0.6 * rng.normal(size=500)}
    comparison = compare_regressions(apart, apart, labels=y)
    assert (comparison.status.code, comparison.best.name) == ("separated", "good")


@pytest.mark.slow
@pytest.mark.parametrize("grouped", [False, True])
def test_intervals_and_differences_cover(grouped: bool) -> None:
    covered = paired = 0
    times = 300
    for seed in range(times):
        rng = np.random.default_rng(seed)
        groups = np.arange(240) // 4 if grouped else None
        shared = rng.normal(size=240)
        if grouped:
            shared = np.repeat(rng.normal(size=60), 4)
        y = rng.normal(size=240)
        before = {"a": y + 0.4 * shared, "b": y + 0.5 * shared}
        after = {name: part + 0.3 * rng.normal(size=240) for name, part in before.items()}
        resampling = Resampling(confidence_level=0.9, groups=groups)
        comparison = compare_regressions(after, before, labels=y, resampling=resampling)
        truth = {"a": 0.16 + 0.09, "b": 0.25 + 0.09}
        for model in comparison.models:
            covered += model.interval.low <= truth[model.name] <= model.interval.high
        gap = comparison.differences[0]
        expected = truth[gap.first] - truth[gap.second]
        paired += gap.interval.low <= expected <= gap.interval.high
    assert 0.85 <= covered / (2 * times) <= 0.95
    assert 0.85 <= paired / times <= 0.95


def test_weights_count_like_repeated_samples() -> None:
    y, before, after, _ = models(3, n_samples=60, n_models=3)
    times = np.random.default_rng(0).integers(1, 4, 60)

    def repeated(tables):
        return {name: np.repeat(column, times) for name, column in tables.items()}

    weighted = compare_regressions(after, before, labels=y, sample_weight=times)
    longer = compare_regressions(repeated(after), repeated(before), labels=np.repeat(y, times))
    for one, other in zip(weighted.models, longer.models, strict=True):
        assert (one.name, one.value) == (other.name, pytest.approx(other.value))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"predictions": [1.0, 2.0]}, TypeError, "predictions must be a mapping"),
        ({"reference_predictions": {"a": [0.0]}}, ValueError, "reference_predictions must be"),
        ({"predictions": {"a": [0.0, np.nan], "b": [0.0, 1.0]}}, ValueError, "finite"),
        ({"labels": [1.0]}, ValueError, "labels must be 2 numbers"),
        ({"labels": [np.nan, np.nan]}, ValueError, "labels must be 2 numbers"),
        ({"labels": None}, ValueError, "labels must be given for fewer than three models"),
    ],
)
def test_what_does_not_match_is_refused(change, error, message) -> None:
    arguments = {
        "predictions": {"a": [0.0, 1.0], "b": [0.5, 0.5]},
        "reference_predictions": {"a": [0.0, 1.0], "b": [0.5, 0.5]},
        "labels": [0.0, 1.0],
    }
    with pytest.raises(error, match=message):
        compare_regressions(**{**arguments, **change})
