"""Pairwise tables: the numbers of each pair, ranks by what is new, named mistakes."""

import numpy as np
import pytest

from shiftmetrics import Computing, Result, kernel_entropic_novelty
from shiftmetrics.novelty import NoveltyResampling, novelty_table

QUICK = {"resampling": NoveltyResampling(n_resamples=19), "computing": Computing(progress=False)}


def samples() -> dict[str, np.ndarray]:
    """One kind; two kinds; three kinds of rows."""
    rng = np.random.default_rng(0)
    poor, middle, rich = rng.normal(scale=0.3, size=(3, 120, 2))
    middle[:40] += [5.0, 0.0]
    rich[:40] += [5.0, 0.0]
    rich[40:80] += [0.0, 5.0]
    return {"poor": poor, "middle": middle, "rich": rich}


@pytest.mark.slow
def test_a_table_holds_what_each_pair_gives() -> None:
    named = samples()
    table = novelty_table(named, bandwidth=1.0, **QUICK)
    assert table.names == ("poor", "middle", "rich")
    for i, first in enumerate(named.values()):
        for j, second in enumerate(named.values()):
            if i != j:
                one = kernel_entropic_novelty(first, second, bandwidth=1.0, **QUICK)
                assert table.shares[i, j] == pytest.approx(one.share, abs=0.01)
                assert table.scores[i, j] == pytest.approx(one.value, abs=1e-9)
    np.testing.assert_allclose(table.shares[:, 0], [0.0, 1 / 3, 2 / 3], atol=0.02)
    assert table.to_frame()["rank"].tolist() == [3, 3, 2, 2, 1, 1]
    assert table.headline().startswith("Most that is new first, mean share against the others: rich (5")
    pairs = table.pairs()
    assert pairs.loc["rich", "poor"] == pytest.approx(table.shares[2, 0])
    assert pairs.loc["rich", "mean"] == pytest.approx(table.row_means[2])
    assert pairs.loc["mean", "poor"] == pytest.approx(table.shares[1:, 0].mean())
    assert np.isnan(pairs.loc["mean", "mean"])
    frame = table.to_frame()
    assert len(frame) == 6
    assert (frame["share_low"] <= frame["share"]).all()
    assert Result.from_json(table.to_json()).equals(table)


def test_columns_of_different_units_are_divided_by_those_of_all_samples() -> None:
    named = {name: rows * [1.0, 1e4] for name, rows in samples().items()}
    table = novelty_table(named, n_rows=100, **QUICK)
    assert table.n_rows == 100
    assert any("each is divided by its spread" in warning for warning in table.warnings)
    assert len(table.settings["column_units"]) == 2
    np.testing.assert_allclose(table.shares[:, 0], [0.0, 1 / 3, 2 / 3], atol=0.06)
    assert table.value == table.row_means.max()


def test_samples_of_one_distribution_share_one_rank() -> None:
    rng = np.random.default_rng(3)
    table = novelty_table({"a": rng.normal(size=(100, 3)), "b": rng.normal(size=(150, 3))}, **QUICK)
    assert table.n_rows == 100
    assert table.shares.max() == 0.0
    assert table.to_frame()["rank"].tolist() == [1, 1]
    assert table.p_values.min() > 0.05


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"samples": {"a": np.eye(3)}},
            "samples must be a mapping from names to at least two samples, got 1",
        ),
        ({"n_rows": 500}, "n_rows must be at most the rows of the smallest sample, 120, got 500"),
        ({"bandwidth": -1.0}, "bandwidth"),
        ({"samples": {"a": np.eye(3), "b": np.eye(4)}}, "samples must be of as many columns each"),
    ],
)
def test_bad_input_is_named(change: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        novelty_table(**{"samples": samples(), **QUICK, **change})
