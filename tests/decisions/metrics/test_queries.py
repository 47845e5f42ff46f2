"""NDCG of queries against scikit-learn's, query by query."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import ndcg_score

from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics.decisions import diff_metric
from shiftmetrics.decisions.labelling.paired_mean import paired_mean_interval
from shiftmetrics.decisions.metrics.queries import ndcg_by_query
from shiftmetrics.tables.ask import UnreadableTableError
from shiftmetrics.tables.options import RoleOptions


def ranking(n_queries=40, seed=0):
    """Return what two models score: some scores are tied, one query has no relevant document."""
    rng = np.random.default_rng(seed)
    parts = []
    for query in range(n_queries):
        n = int(rng.integers(2, 9))
        parts.append(
            pd.DataFrame(
                {
                    "query": f"q{query}",
                    "doc": rng.choice(50, n, replace=False),
                    "relevance": rng.integers(0, 4, n) * (query != 3),
                }
            )
        )
    table = pd.concat(parts, ignore_index=True)
    n = len(table)
    old = table.assign(score=(table["relevance"] + rng.normal(0.0, 2.0, n)).round())
    new = table.assign(score=(table["relevance"] + rng.normal(0.0, 1.5, n)).round())
    return old, new


def by_scikit_learn(table, k=None):
    return table.groupby("query").apply(
        lambda part: ndcg_score([part["relevance"]], [part["score"]], k=k)
    )


@pytest.mark.parametrize(("name", "k"), [("ndcg", None), ("ndcg@3", 3), ("ndcg@1", 1)])
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_the_mean_over_queries_is_that_of_scikit_learn(name, k):
    old, new = ranking()
    shuffled = new.sample(frac=1.0, random_state=1)
    result = diff_metric(old, shuffled, name, groups="query", allow=0.5)
    before, after = by_scikit_learn(old, k), by_scikit_learn(new, k)
    assert result.old_score == pytest.approx(before.mean())
    assert result.new_score == pytest.approx(after.mean())
    assert result.n_samples == 40
    # paired by query, as the scores of questions are
    expected = paired_mean_interval((after - before).to_numpy(), 1.0)
    assert result.interval.low == pytest.approx(expected.low, abs=0.01)
    assert result.interval.high == pytest.approx(expected.high, abs=0.01)
    frame = result.to_frame().set_index("id")
    assert set(frame.index) == set(after.index[np.abs(after - before) > 1e-9])
    assert frame["new"].to_numpy() == pytest.approx(after[frame.index].to_numpy())
    assert any("without a relevant document" in text for text in result.settings["found"])
    assert "40 queries" in result.headline()


def test_all_scores_tied_are_the_mean_over_orders():
    relevance = np.array([3.0, 0.0, 1.0, 2.0])
    found = ndcg_by_query(relevance, np.zeros(4), np.zeros(4, dtype=int), 2)
    assert found[0] == pytest.approx(ndcg_score([relevance], [np.zeros(4)], k=2))
    single = ndcg_by_query(np.array([2.0, 0.0]), np.array([1.0, 5.0]), np.array([0, 1]), 0)
    assert single.tolist() == [1.0, 0.0]


def test_relevances_in_a_file_of_their_own_and_groups_as_an_array():
    old, new = ranking()
    expected = diff_metric(old, new, "ndcg", groups="query")
    truth = old[["query", "doc", "relevance"]].sample(frac=1.0, random_state=2)
    bare = [table.drop(columns="relevance") for table in (old, new)]
    by_file = diff_metric(*bare, "ndcg", labels=truth, groups="query")
    assert by_file.value == pytest.approx(expected.value)
    by_arrays = diff_metric(
        old["score"].to_numpy(), new["score"].to_numpy(), "ndcg", labels=old["relevance"].to_numpy(),
        groups=old["query"].to_numpy(),
    )  # fmt: skip
    assert by_arrays.value == pytest.approx(expected.value)
    assert by_arrays.interval.equals(expected.interval)


def test_what_is_no_ranking_is_refused():
    old, new = ranking()
    with pytest.raises(ArgumentValueError) as caught:
        diff_metric(
            old.rename(columns={"query": "about"}), new.rename(columns={"query": "about"}), "ndcg",
            labels="relevance", ids="none",
        )  # fmt: skip
    assert caught.value.argument == "groups"
    bad = [table.assign(relevance=table["relevance"] - 1) for table in (old, new)]
    with pytest.raises(ArgumentValueError, match="-1"):
        diff_metric(*bad, "ndcg", groups="query")
    with pytest.raises(UnreadableTableError, match="same rows"):
        diff_metric(old, new.iloc[1:], "ndcg", groups="query")
    with pytest.raises(ArgumentValueError, match="inner"):
        diff_metric(
            old, new.iloc[1:], "ndcg", groups="query", ids=RoleOptions(inner=True)
        )  # fmt: skip
    with pytest.raises(UnreadableTableError, match="'points'"):
        diff_metric(old, new, "ndcg", groups="query", ids=RoleOptions(prediction="points"))
    with pytest.raises(ArgumentValueError, match="documents"):
        diff_metric(old, new, "ndcg@0", groups="query")


def test_few_queries_are_too_few():
    old, new = ranking(9)
    result = diff_metric(old, new, "ndcg", groups="query", allow=0.1)
    assert result.exit_code == 3
    assert "9 queries" in result.headline()
