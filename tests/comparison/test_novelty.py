"""Samples ranked by the share that is new: equal numbers of rows, one bandwidth, paired influences."""

from dataclasses import replace

import numpy as np
import pytest

from shiftmetrics import kernel_entropic_novelty
from shiftmetrics.comparison import compare_novelty, compare_results
from shiftmetrics.comparison.result import ComparisonResult
from shiftmetrics.novelty import NoveltyResampling

OPTIONS = {
    "bandwidth": 2.0,
    "resampling": NoveltyResampling(confidence_level=0.9, n_resamples=99, rng=0),
}


def samples(seed: int = 0) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """A reference, a sample of its kind, and two with one and with three new kinds."""
    rng = np.random.default_rng(seed)
    reference = rng.normal(size=(160, 2))
    same, one, three = rng.normal(size=(3, 180, 2))
    one[:90] += [7.0, 0.0]
    for place, shift in enumerate(([7.0, 0.0], [0.0, 7.0], [-7.0, 0.0])):
        three[20 * place : 20 * place + 20] += shift
    return {"same": same, "one": one, "three": three}, reference


@pytest.mark.slow
def test_samples_are_ranked_by_the_share_that_is_new() -> None:
    named, reference = samples()
    comparison = compare_novelty(named, reference, **OPTIONS)
    assert [model.name for model in comparison.models] == ["one", "three", "same"]
    assert [model.value for model in comparison.models] == pytest.approx(
        [1 / 2, 1 / 3, 0.0], abs=0.05
    )
    assert comparison.status.code == "separated"
    frame = comparison.to_frame().set_index("model")
    assert (frame["fraction_low"] <= frame["value"]).all()
    assert frame.loc["one", "p_value"] < 0.05 < frame.loc["same", "p_value"]
    assert (frame["interval_low"] <= frame["value"]).all()
    assert "one is the most novel of 3 samples" in comparison.headline()
    assert "more novel than each of the others" in comparison.headline()
    # The same from results at hand.
    results = {name: kernel_entropic_novelty(x, reference, **OPTIONS) for name, x in named.items()}
    again = compare_results(results, confidence_level=0.9)
    assert [model.name for model in again.models] == [model.name for model in comparison.models]


@pytest.mark.slow
def test_the_sample_with_a_third_new_ranks_first() -> None:
    """The example of the documentation: the score in nats ranks it last."""
    rng = np.random.default_rng(0)
    known = rng.normal(size=(400, 2))
    new = rng.normal(loc=(6.0, 0.0), scale=0.5, size=(100, 2))
    samples = {"same": known[:200], "new": np.concatenate([known[:200], new])}
    ranked = compare_novelty(samples, known[200:], bandwidth=1.0)
    assert [model.name for model in ranked.models] == ["new", "same"]
    assert ranked.value == pytest.approx(1 / 3, abs=0.05)
    assert ranked.models[1].value == 0.0


def test_equal_samples_cannot_be_told_apart() -> None:
    rng = np.random.default_rng(1)
    first, second, reference = rng.normal(size=(3, 150, 3))
    comparison = compare_novelty({"a": first, "b": second}, reference, **OPTIONS)
    assert comparison.status.code == "tied"
    assert comparison.differences[0].p_value > 0.05


def test_unequal_numbers_of_rows_are_refused_with_a_remedy() -> None:
    named, reference = samples()
    results = {
        "all": kernel_entropic_novelty(named["one"], reference, bandwidth=2.0),
        "few": kernel_entropic_novelty(named["same"][:100], reference, bandwidth=2.0),
    }
    message = "numbers of rows, got 180 and 160 for 'all', 100 and 160 for 'few'. Novelty grows with the rows. Take"
    with pytest.raises(ValueError, match=message):
        compare_results(results)
    # A score on a part of the rows counts as many rows as it is of.
    part = replace(results["all"], score=replace(results["all"].score, sizes=(100, 100)))
    with pytest.raises(ValueError, match="100 and 100 for 'part'"):
        compare_results({"all": results["all"], "part": part})


@pytest.mark.parametrize(("option", "value"), [("bandwidth", 3.0), ("eta", 2.0)])
def test_other_questions_are_refused(option: str, value: float) -> None:
    named, reference = samples()
    first = kernel_entropic_novelty(named["one"], reference, **OPTIONS)
    second = kernel_entropic_novelty(named["same"], reference, **{**OPTIONS, option: value})
    with pytest.raises(ValueError, match=f"results must share the {option}"):
        compare_results({"first": first, "second": second})


@pytest.mark.slow
def test_samples_of_unequal_size_are_drawn_down() -> None:
    named, reference = samples()
    comparison = compare_novelty({**named, "same": named["same"][:90]}, reference, **OPTIONS)
    assert comparison.n_samples == 90
    assert comparison.settings["n_rows"] == 90
    chosen = compare_novelty(
        {name: sample[:50] for name, sample in named.items()}, reference,
        resampling=NoveltyResampling(n_resamples=59, rng=0),
    )  # fmt: skip
    assert chosen.n_samples == 50
    assert chosen.settings["bandwidth"] > 0.0
    cosine = compare_novelty(
        {k: v + 9.0 for k, v in named.items()},
        reference + 9.0,
        kernel="cosine",
        resampling=NoveltyResampling(n_resamples=59),
    )
    assert cosine.settings["bandwidth"] == "auto"


@pytest.mark.slow
def test_columns_of_different_units_are_divided_by_common_ones() -> None:
    named, reference = samples()
    wide = {name: rows * [1.0, 1e4] for name, rows in named.items()}
    options = {"resampling": NoveltyResampling(n_resamples=59, rng=0)}
    ranked = compare_novelty(wide, reference * [1.0, 1e4], **options)
    assert [model.name for model in ranked.models] == ["one", "three", "same"]
    assert any("each is divided by its spread" in warning for warning in ranked.warnings)
    units = np.array(ranked.settings["column_units"])
    alike = compare_novelty(
        {k: v / units for k, v in wide.items()}, reference * [1.0, 1e4] / units, **options
    )
    assert [model.value for model in ranked.models] == pytest.approx(
        [model.value for model in alike.models]
    )
    assert not any("spread" in warning for warning in alike.warnings)


@pytest.mark.slow
def test_it_travels_through_json(tmp_path) -> None:
    named, reference = samples()
    comparison = compare_novelty(named, reference, **OPTIONS)
    comparison.to_json(tmp_path / "comparison.json")
    back = ComparisonResult.from_json(tmp_path / "comparison.json")
    assert back.headline() == comparison.headline()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"samples": {"a": np.eye(3)}}, ValueError, "at least two"),
        (
            {"samples": {"a": np.eye(3)[:, :2], "b": np.eye(3)}},
            ValueError,
            "Sample 'b': reference must be of as many",
        ),
        ({"samples": [1, 2]}, TypeError, "samples must be a mapping"),
        ({"resampling": 2.0}, ValueError, "resampling must be"),
    ],
)
def test_bad_input_is_named(change: dict, error: type, message: str) -> None:
    named, reference = samples()
    with pytest.raises(error, match=message):
        compare_novelty(**{"samples": named, "reference": reference, **OPTIONS, **change})


def test_other_scores_stand_beside_the_ranking() -> None:
    rng = np.random.default_rng(0)
    reference, same, new = rng.normal(size=(3, 60, 2))
    new[:20] += 6.0
    samples = {"same": same, "new": new}
    criteria = {
        "wide": lambda sample, reference: kernel_entropic_novelty(sample, reference, bandwidth=2.0),
        "gap": lambda sample, reference: np.linalg.norm(
            sample.mean(axis=0) - reference.mean(axis=0)
        ),
    }
    plain = compare_novelty(samples, reference, **OPTIONS)
    compared = compare_novelty(samples, reference, criteria=criteria, **OPTIONS)
    frame = compared.to_frame().set_index("model")
    assert plain.to_frame()["model"].tolist() == compared.to_frame()["model"].tolist()
    for name, sample in samples.items():
        wide = kernel_entropic_novelty(sample, reference, bandwidth=2.0)
        assert frame.loc[name, "wide"] == pytest.approx(wide.value)
        assert frame.loc[name, "gap"] == pytest.approx(
            np.linalg.norm(sample.mean(0) - reference.mean(0))
        )
    with pytest.raises(TypeError, match="criteria\\['wide'\\]"):
        compare_novelty(samples, reference, criteria={"wide": 3}, **OPTIONS)
    with pytest.raises(ValueError, match="criteria\\['nothing'\\]"):
        compare_novelty(
            samples, reference, criteria={"nothing": lambda sample, reference: np.nan}, **OPTIONS
        )
