"""Agreement of Dask arrays: the certified value of all rows, from tree sums over partitions."""

from operator import attrgetter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from shiftmetrics import Computing, posterior_agreement

dask = pytest.importorskip("dask", reason="needs dask: pip install 'shiftmetrics[dask]'")
da = pytest.importorskip("dask.array")
dataframe = pytest.importorskip("dask.dataframe")


def arrays(seed: int, chunks: object = (70, -1)) -> tuple[object, object]:
    return tuple(da.from_array(part, chunks=chunks) for part in oracles.hard_pairs(seed))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["scores", "probabilities"])
@given(cuts=st.lists(st.integers(0, 4000), max_size=6))
@settings(max_examples=10)
def test_any_partitions_give_the_number_of_memory(kind: str, cuts: list[int]) -> None:
    rng = np.random.default_rng(3)
    reference = 3.0 * rng.normal(size=(4000, 4))
    pair = reference + rng.normal(size=(4000, 4)), reference
    if kind == "probabilities":
        pair = tuple(np.exp(side) / np.exp(side).sum(axis=1, keepdims=True) for side in pair)
    exact = posterior_agreement(*pair, kind=kind)
    chunks = tuple(np.diff([0, *sorted(cuts), 4000]).tolist())
    split = [da.from_array(side, chunks=(chunks, -1)) for side in pair]
    with dask.config.set(scheduler="synchronous"):
        result = posterior_agreement(*split, kind=kind)
    for name in ("value", "beta", "effective_classes", "changes.disagreement"):
        assert attrgetter(name)(result) == pytest.approx(attrgetter(name)(exact), rel=1e-12)


def test_data_frames_match_their_columns_by_name() -> None:
    pair = [pd.DataFrame(side, columns=["a", "b", "c"]) for side in oracles.hard_pairs(1)]
    exact = posterior_agreement(*pair)
    shifted, reference = (dataframe.from_pandas(side, npartitions=3) for side in pair)
    result = posterior_agreement(shifted, reference[["c", "a", "b"]])
    assert result.value == pytest.approx(exact.value, rel=1e-12)
    with pytest.raises(ValueError, match="same columns"):
        posterior_agreement(shifted, reference.rename(columns={"a": "d"}))


@pytest.mark.parametrize("prior", [None, "predicted"])
@pytest.mark.parametrize("seed", range(4))
def test_value_is_that_of_all_rows(seed: int, prior: str | None) -> None:
    exact = posterior_agreement(
        *oracles.hard_pairs(seed), prior=prior, computing=Computing(atol=1e-9)
    )
    with dask.config.set(scheduler="threads", num_workers=2):
        result = posterior_agreement(*arrays(seed), prior=prior, computing=Computing(atol=1e-9))
    assert result.value == pytest.approx(exact.value, abs=2e-9)
    assert result.beta == pytest.approx(exact.beta, rel=1e-5)
    for name in (
        "n_samples",
        "n_classes",
        "changes.disagreement",
        "effective_classes",
        "equivalent_error",
        "log_pa",
    ):
        assert attrgetter(name)(result) == pytest.approx(attrgetter(name)(exact), rel=1e-6)
    assert result.status == exact.status
    assert result.per_sample is None


def test_scales_columns_and_margins_in_partitions() -> None:
    scores, reference = oracles.hard_pairs(2)
    exact = posterior_agreement(scores, reference)
    split = [
        da.from_array(part, chunks=(100, 3)) for part in (scores, reference)
    ]  # columns are joined again
    assert posterior_agreement(*split).value == pytest.approx(exact.value, abs=2e-6)
    huge = [1e200 * part for part in arrays(2)]
    assert posterior_agreement(*huge).value == pytest.approx(exact.value, abs=2e-6)
    margins = [da.from_array(part[:, 0] - part[:, 1], chunks=64) for part in (scores, reference)]
    expected = posterior_agreement(*(part.compute() for part in margins)).value
    assert posterior_agreement(*margins).value == pytest.approx(expected, abs=2e-6)


def test_filtered_rows_leave_empty_partitions_of_unknown_size() -> None:
    scores, reference = arrays(1, chunks=(50, -1))
    keep = np.arange(300) >= 120
    mask = da.from_array(keep, chunks=50)
    result = posterior_agreement(scores[mask], reference[mask])
    exact = posterior_agreement(*(part[keep] for part in oracles.hard_pairs(1)))
    assert result.n_samples == 180
    assert result.value == pytest.approx(exact.value, abs=2e-6)
    with pytest.raises(ValueError, match=r"scores must be an array of at least 1 row\(s\)"):
        posterior_agreement(scores[mask & False], reference[mask & False])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a, b: (a.compute(), b), "scores must be a Dask collection"),
        (
            lambda a, b: (a, b.rechunk((100, -1))),
            "in 5 partitions of rows like scores, of the same sizes, got 3",
        ),
        (lambda a, b: (a, b[:, 0]), "same shape"),
        (lambda a, b: (a + np.nan, b), "scores must be finite"),
        (lambda a, b: (a[:, :1], b[:, :1]), "at least two classes|number of|classes"),
    ],
)
def test_bad_input(change: object, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        posterior_agreement(*change(*arrays(0)))
