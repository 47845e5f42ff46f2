"""Models ranked by agreement: what is clearly better leads, what is not is tied, constant models never win."""

import math

import numpy as np
import pandas as pd
import pytest

from shiftmetrics import Resampling, Result, posterior_agreement
from shiftmetrics.comparison import compare_agreement, compare_results


def models(noises: dict[str, float], n: int = 400, k: int = 4, seed: int = 0):
    """Each model has its own clean scores, about the same truth, and its own noise."""
    rng = np.random.default_rng(seed)
    truth = 3.0 * rng.normal(size=(n, k))
    reference = {name: truth + rng.normal(size=truth.shape) for name in noises}
    scores = {
        name: reference[name] + noise * rng.normal(size=truth.shape)
        for name, noise in noises.items()
    }
    return scores, reference


@pytest.mark.parametrize("criterion", ["agreement", "vote"])
def test_draws_are_made_where_none_are_described(criterion):
    scores, reference = models({"good": 0.5, "middle": 2.0, "poor": 5.0}, n=60)
    comparison = compare_agreement(scores, reference, criterion=criterion, resampling=None)
    assert comparison.best.interval.confidence_level == 0.95
    assert isinstance(comparison.settings["rng"], int)


def test_the_better_model_leads():
    scores, reference = models({"middle": 2.0, "good": 0.5, "poor": 5.0})
    comparison = compare_agreement(
        scores, reference, criterion="agreement", resampling=Resampling(rng=0)
    )
    assert [model.name for model in comparison.models] == ["good", "middle", "poor"]
    assert [(model.rank_low, model.rank_high) for model in comparison.models] == [
        (1, 1),
        (2, 2),
        (3, 3),
    ]
    assert comparison.status.code == "separated"
    assert comparison.best.probability_best == 1.0
    alone = posterior_agreement(
        scores["good"],
        reference["good"],
        prior="predicted",
        resampling=Resampling(confidence_level=0.95, rng=0),
    )
    assert comparison.value == alone.value
    assert comparison.interval.equals(alone.interval)
    assert comparison.headline().startswith(
        "good is the steadiest of 3 models by posterior agreement: 1.226 nats"
    )
    assert "steadier than each of the others" in comparison.headline()


def test_equal_models_are_tied():
    comparison = compare_agreement(
        *models({"a": 2.0, "b": 2.0, "c": 9.0}, n=200), resampling=Resampling(rng=0)
    )
    assert comparison.status.code == "tied"
    assert {model.name for model in comparison.contenders} == {"a", "b"}
    assert comparison.models[2].rank_low == comparison.models[2].rank_high == 3
    assert "cannot be told from it" in comparison.headline()
    assert sum(model.probability_best for model in comparison.models) == pytest.approx(1.0)


def test_common_rows_cancel_in_the_differences():
    scores, reference = models({"a": 2.0}, n=300)
    shared = {
        "a": scores["a"],
        "b": scores["a"] + 0.3 * np.random.default_rng(1).normal(size=(300, 4)),
    }
    comparison = compare_agreement(shared, reference["a"], resampling=Resampling(rng=0))
    first, second = (model.interval for model in comparison.models)
    gap = comparison.differences[0].interval
    apart = math.hypot(first.high - first.low, second.high - second.low)
    assert gap.high - gap.low < 0.6 * apart


def test_a_copy_of_a_model_differs_by_nothing():
    scores, reference = models({"a": 2.0}, n=100)
    comparison = compare_agreement(
        {"a": scores["a"], "copy": 7.0 * scores["a"]},
        {"a": reference["a"], "copy": 7.0 * reference["a"]},
        resampling=Resampling(rng=0),
    )
    pair = comparison.differences[0]
    assert pair.difference == pytest.approx(0.0, abs=1e-6)
    assert pair.p_value > 0.05
    assert comparison.status.code == "tied"


def test_a_constant_classifier_never_wins():
    scores, reference = models({"poor": 12.0})
    constant = np.tile([5.0, 0.0, 0.0, 0.0], (400, 1)) + 0.01 * scores["poor"]
    scores, reference = {**scores, "constant": constant}, {**reference, "constant": constant[::-1]}
    for prior in ("predicted", None):
        comparison = compare_agreement(scores, reference, prior=prior, resampling=Resampling(rng=0))
        assert comparison.best.name == "poor"
        assert comparison.best.probability_best == 1.0
        assert comparison.models[1].collapsed
        assert comparison.models[1].rank_low == 2
        assert "single predicted class: constant." in comparison.summary()
        in_nats = comparison.models[1].secondary_metrics["agreement"]
        assert in_nats == pytest.approx(
            0.0 if prior else math.log(4)
        )  # what the predicted prior is for


def test_constant_models_alone_are_said_to_be_collapsed():
    constant = np.tile([5.0, 0.0], (50, 1)) + np.random.default_rng(0).random((50, 2))
    comparison = compare_agreement(
        {"a": constant, "b": constant[::-1]}, constant, resampling=Resampling(rng=0)
    )
    assert comparison.status.code == "collapsed"
    assert not comparison.status.ok
    assert all(model.collapsed for model in comparison.models)


def test_rows_match_by_label_over_all_models():
    scores, reference = models({"a": 2.0, "b": 2.5}, n=120)
    names = [f"row {i}" for i in range(120)]
    frame = {
        name: pd.DataFrame(part, index=names, columns=list("wxyz")).sample(frac=1, random_state=i)
        for i, (name, part) in enumerate(scores.items())
    }
    before = {
        name: pd.DataFrame(part, index=names, columns=list("wxyz"))
        for name, part in reference.items()
    }
    groups = pd.Series(np.arange(120) // 4, index=names)
    comparison = compare_agreement(frame, before, resampling=Resampling(groups=groups, rng=0))
    again = compare_agreement(
        {"a": frame["a"], "b": frame["b"].loc[frame["a"].index]},
        before,
        resampling=Resampling(groups=groups.loc[frame["a"].index], rng=0),
    )
    assert comparison.differences[0].equals(again.differences[0])
    assert "30 groups" in comparison.interval.method


def test_labels_say_what_the_columns_of_models_are_called():
    scores, reference = models({"a": 2.0, "b": 2.5}, n=120)
    truth = np.random.default_rng(0).integers(4, size=120)
    names = ["p1", "p2", "p3", "p4"]
    tables = [
        {name: pd.DataFrame(part, columns=names) for name, part in side.items()}
        for side in (scores, reference)
    ]
    options = {"resampling": Resampling(n_resamples=50, rng=0)}
    named = compare_agreement(*tables, labels=truth + 1, **options)
    plain = compare_agreement(scores, reference, labels=truth, **options)
    assert [model.value for model in named.models] == [model.value for model in plain.models]
    with pytest.raises(ValueError, match="labels must be classes of the scores"):
        compare_agreement(*tables, labels=truth + 2, **options)


def test_results_travel():
    comparison = compare_agreement(
        *models({"a": 2.0, "b": 2.5}, n=60), resampling=Resampling(rng=0, n_resamples=50)
    )
    assert Result.from_json(comparison.to_json()).equals(comparison)
    assert list(comparison.to_frame()["model"]) == [model.name for model in comparison.models]
    assert comparison.differences_frame().shape == (1, 10)
    assert comparison.settings["rng"] == 0


@pytest.mark.slow
def test_p_values_of_equal_models_are_even():
    small = []
    for seed in range(120):
        comparison = compare_agreement(
            *models({"a": 2.0, "b": 2.0}, n=150, seed=seed),
            resampling=Resampling(rng=seed, n_resamples=400),
        )
        small.append(comparison.differences[0].p_value <= 0.1)
    assert 0.04 <= np.mean(small) <= 0.17


@pytest.mark.slow
def test_intervals_of_differences_cover():
    noises = {"a": 2.0, "b": 2.6}
    scores, reference = models(noises, n=400_000, seed=99)
    value = {
        name: posterior_agreement(scores[name], reference[name], prior="predicted").normalized
        for name in noises
    }
    hits = 0
    for seed in range(120):
        scores, reference = models(noises, n=200, seed=seed)
        comparison = compare_agreement(
            scores,
            reference,
            resampling=Resampling(rng=seed, n_resamples=400, confidence_level=0.9),
        )
        pair = comparison.differences[0]
        hits += pair.interval.low <= value[pair.first] - value[pair.second] <= pair.interval.high
    assert 0.83 <= hits / 120 <= 0.96


@pytest.mark.slow
def test_ranks_hold_for_all_models_together():
    """Three models are equal, so a rank range of any of them that leaves out 1 to 3 is wrong: in at most 10 %."""
    wrong = 0
    for seed in range(120):
        scores, reference = models({"a": 2.0, "b": 2.0, "c": 2.0, "d": 6.0}, n=150, seed=seed)
        comparison = compare_agreement(
            scores,
            reference,
            resampling=Resampling(rng=seed, n_resamples=300, confidence_level=0.9),
        )
        ranges = {model.name: (model.rank_low, model.rank_high) for model in comparison.models}
        wrong += (
            any(ranges[name][0] > 1 or ranges[name][1] < 3 for name in "abc") or ranges["d"][1] < 4
        )
    assert wrong / 120 <= 0.16


# --- bad input -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            {"scores": [1, 2]},
            TypeError,
            "scores must be a mapping from the names of models, got list",
        ),
        ({"scores": {"a": np.eye(3)}}, ValueError, "scores must be of at least two models, got 1"),
        ({"scores": {1: np.eye(3), 2: np.eye(3)}}, TypeError, "keys are strings"),
        (
            {"scores": {"a": np.eye(3), "b": np.eye(4)[:, :3]}},
            ValueError,
            "same rows for all models, got 3 for 'a', 4",
        ),
        (
            {"reference_scores": {"a": np.eye(3)}},
            ValueError,
            "reference_scores must be a mapping with the names",
        ),
        (
            {"scores": {"a": np.eye(3), "b": np.full((3, 3), np.nan)}},
            ValueError,
            "Model 'b': scores must be finite",
        ),
        ({"resampling": 1.5}, ValueError, "resampling must be"),
        ({"resampling": "0.9"}, TypeError, "resampling must be a real number"),
    ],
)
def test_bad_input(change, error, message):
    call = {"scores": {"a": np.eye(3), "b": np.eye(3)}, "reference_scores": np.eye(3), **change}
    with pytest.raises(error, match=message):
        compare_agreement(call.pop("scores"), call.pop("reference_scores"), **call)


def test_results_must_be_paired():
    scores, reference = models({"a": 2.0}, n=50)
    options = {"confidence_level": 0.9, "n_resamples": 20}
    first = posterior_agreement(
        scores["a"], reference["a"], resampling=Resampling(rng=0, **options)
    )
    with pytest.raises(ValueError, match="results must share the seed rng, got 0 for 'a', 1"):
        compare_results(
            {
                "a": first,
                "b": posterior_agreement(
                    scores["a"], reference["a"], resampling=Resampling(rng=1, **options)
                ),
            }
        )
    with pytest.raises(ValueError, match="Pass resampling"):
        compare_results({"a": first, "b": posterior_agreement(scores["a"], reference["a"])})
    shorter = posterior_agreement(
        scores["a"][:40], reference["a"][:40], resampling=Resampling(rng=0, **options)
    )
    with pytest.raises(ValueError, match="number of rows, got 50 for 'a', 40"):
        compare_results({"a": first, "b": shorter})
    with pytest.raises(TypeError, match="a result of a measure"):
        compare_results({"a": first, "b": 3.0})


# --- rows that are not in memory ----------------------------------------------------------------------------


def of_parquet(folder, name, values):
    dataset = pytest.importorskip(
        "pyarrow.dataset", reason="needs pyarrow: pip install 'shiftmetrics[parquet]'"
    )
    (folder / name).mkdir(parents=True)
    for number, part in enumerate(np.array_split(values, 3)):
        pd.DataFrame(part, columns=list("abcd")).to_parquet(folder / name / f"{number}.parquet")
    return dataset.dataset(str(folder / name))


def of_dask(folder, name, values):
    da = pytest.importorskip("dask.array", reason="needs dask: pip install 'shiftmetrics[dask]'")
    return da.from_array(values, chunks=(150, -1))


def of_batches(folder, name, values):
    return [values[:130], values[130:]]


@pytest.mark.slow
@pytest.mark.parametrize("store", [of_parquet, of_dask, of_batches])
def test_rows_in_parts_are_ranked_as_in_memory(store, tmp_path):
    scores, reference = models({"good": 0.5, "middle": 2.0, "poor": 5.0})
    truth = reference["good"].argmax(axis=1)
    parts = [
        {name: store(tmp_path / side, name, values) for name, values in tables.items()}
        for side, tables in (("after", scores), ("before", reference))
    ]
    drawn = Resampling(rng=0, n_resamples=60)
    labels = np.array(list("abcd"))[truth] if store is of_parquet else truth
    for given in ({}, {"labels": (truth, labels)}):
        exact = compare_agreement(
            scores, reference, resampling=drawn, **{name: pair[0] for name, pair in given.items()}
        )
        split = compare_agreement(
            *parts, resampling=drawn, **{name: pair[1] for name, pair in given.items()}
        )
        assert split.compared == exact.compared
        for model, expected in zip(split.models, exact.models, strict=True):
            assert model.name == expected.name
            assert model.value == expected.value
            assert model.interval.low == expected.interval.low
            assert model.secondary_metrics["agreement"] == pytest.approx(
                expected.secondary_metrics["agreement"], abs=2e-6
            )


def test_agreement_over_files_has_its_intervals_and_over_dask_is_refused(tmp_path):
    scores, reference = models({"good": 0.5, "poor": 5.0})
    drawn = Resampling(rng=0, n_resamples=60)
    exact = compare_agreement(scores, reference, resampling=drawn)
    files = [
        {name: of_parquet(tmp_path / side, name, values) for name, values in tables.items()}
        for side, tables in (("after", scores), ("before", reference))
    ]
    split = compare_agreement(*files, resampling=drawn)
    assert split.value == pytest.approx(exact.value, rel=1e-12)
    assert split.interval.high == pytest.approx(exact.interval.high, rel=1e-9)
    for store in (of_dask, of_batches):
        parts = [
            {name: store(tmp_path, name, values) for name, values in side.items()}
            for side in (scores, reference)
        ]
        split = compare_agreement(*parts, resampling=drawn)
        assert split.value == pytest.approx(exact.value, rel=1e-12)
        assert split.interval.high == pytest.approx(exact.interval.high, rel=1e-9)
