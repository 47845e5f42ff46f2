"""Models on rows that are not in memory: the answer of memory, however the rows are cut."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from shiftmetrics import Computing, feature_stability, model_stability
from shiftmetrics.models import (
    Decision,
    ModelStabilityResult,
    Perturbation,
    Search,
    least_changes,
)

dask = pytest.importorskip("dask", reason="needs dask: pip install 'shiftmetrics[dask]'")
dataframe = pytest.importorskip("dask.dataframe")

CUTS = (0, 0, 90, 301, 301, 400)  # two partitions are empty
rng = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "age": rng.integers(20, 60, 400),
        "dose": rng.normal(size=400) * 1e3,
        "ward": rng.choice(["a", "b", "rare"], 400, p=[0.6, 0.38, 0.02]),
    }
)
NUMBERS = pd.DataFrame(rng.normal(size=(400, 3)), columns=["u", "v", "w"])
y = np.where(NUMBERS.u + 0.05 * X.age + (X.ward == "b") + rng.normal(size=400) > 2.4, "yes", "no")
ONE_HOT = make_column_transformer((OneHotEncoder(), ["ward"]), remainder=StandardScaler())


@pytest.fixture(autouse=True, scope="module")
def _in_one_thread() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield


def cut(rows: object, cuts: tuple[int, ...] = CUTS) -> object:
    rows = rows if isinstance(rows, pd.DataFrame) else pd.Series(rows, name="y")
    parts = [dask.delayed(rows.iloc[first:last]) for first, last in itertools.pairwise(cuts)]
    return dataframe.from_delayed(parts, meta=rows.iloc[:0])


def same(found: ModelStabilityResult, exact: ModelStabilityResult) -> None:
    assert (found.search.route, found.kind) == (exact.search.route, exact.kind)
    assert found.value == pytest.approx(exact.value, rel=1e-12)
    # Ends of intervals are roots of a function with jumps, found to about 1e-4 of the price: rounding, which
    # differs between processors, may choose another side of a jump.
    assert found.interval.low == pytest.approx(exact.interval.low, rel=1e-3)
    assert found.search.neighbour_distance == pytest.approx(
        exact.search.neighbour_distance, rel=1e-12
    )
    assert found.lower_bound == exact.lower_bound
    assert found.changed is None
    with pytest.raises(ValueError, match="rows"):
        found.changed_rows()
    assert type(found).from_json(found.to_json()).value == found.value


MODELS = {
    "linear": LogisticRegression(max_iter=2000),
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "ensemble": RandomForestClassifier(6, max_depth=3, random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_errors_of_a_table_in_partitions(name: str) -> None:
    model = make_pipeline(ONE_HOT, MODELS[name]).fit(X, y)
    rows, labels = X[:150], y[:150]
    cuts = (0, 0, 40, 110, 110, 150)
    exact = model_stability(model, rows, labels, 0.45)
    found = model_stability(model, cut(rows, cuts), cut(labels, cuts), 0.45)
    same(found, exact)
    # in memory the columns are known, and a group may be named
    assert found.headline().rstrip(".") == exact.headline().split("; or ")[0].rstrip(".")
    np.testing.assert_allclose(found.plan.weights, exact.plan.weights, rtol=1e-7)


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
def test_closed_forms_take_the_rows_to_memory(loss: str) -> None:
    model = LogisticRegression().fit(NUMBERS, y)
    moves = Perturbation(cost={"u": 2.0}, bounds={"v": (-4.0, None)})
    exact = model_stability(model, NUMBERS, y, 1.3, loss=loss, perturbation=moves)
    found = model_stability(model, cut(NUMBERS), cut(y), 1.3, loss=loss, perturbation=moves)
    assert found.kind == "exact"
    assert found.value == pytest.approx(exact.value, rel=1e-12)
    assert "they were taken to memory" in found.warnings[0]


def test_regression_costs_labels_and_weights() -> None:
    regression = Ridge().fit(NUMBERS, X.age)
    options = {"loss": "squared", "threshold": 200.0}
    exact = model_stability(regression, NUMBERS, X.age, **options)
    found = model_stability(regression, cut(NUMBERS), cut(X.age), **options)
    assert found.value == pytest.approx(exact.value, rel=1e-12)
    model, weights = LogisticRegression().fit(NUMBERS, y), rng.random(400)
    costly = Decision(model, costs={"yes": 3.0})
    same(
        model_stability(costly, cut(NUMBERS), cut(y), 0.8, sample_weight=weights),
        model_stability(costly, NUMBERS, y, 0.8, sample_weight=weights),
    )
    same(
        model_stability(model, cut(NUMBERS), None, 0.2), model_stability(model, NUMBERS, None, 0.2)
    )


def test_missing_cells_of_one_partition() -> None:
    gaps = NUMBERS.copy()
    gaps.iloc[390, 1] = np.nan
    model = make_pipeline(SimpleImputer(), LogisticRegression()).fit(gaps, y)
    same(model_stability(model, cut(gaps), cut(y), 0.45), model_stability(model, gaps, y, 0.45))
    with pytest.raises(ValueError, match="free of missing cells .* 1 in column 'v'"):
        model_stability(LogisticRegression().fit(NUMBERS, y), cut(gaps), cut(y), 0.45)


def test_searches_start_from_rows_of_all_parts() -> None:
    model = LogisticRegression().fit(NUMBERS.to_numpy(), y)
    search = Search(n_queries=60)
    exact = model_stability(model, NUMBERS.to_numpy(), y, 0.45)

    class Batches:
        def __iter__(self) -> Iterator[np.ndarray]:
            for first in range(0, 400, 90):
                yield NUMBERS.to_numpy()[first : first + 90]

    found = model_stability(model.predict, Batches(), y, 0.45, computing=search)
    assert found.kind == "upper_bound"
    assert exact.value * (1 - 1e-9) <= found.value <= 1.1 * exact.value


def test_searches_at_a_price_take_the_rows_to_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    model = make_pipeline(ONE_HOT, LogisticRegression(max_iter=2000)).fit(X, y)
    exact = model_stability(model, X, y, 1.0, loss="log_loss")
    found = model_stability(model, cut(X), cut(y), 1.0, loss="log_loss")
    assert found.value == pytest.approx(exact.value, rel=1e-9)
    assert "they were taken to memory" in found.warnings[0]
    monkeypatch.setattr("shiftmetrics.models.measures.chunked.GATHERED_BYTES", 1 << 20)
    with pytest.raises(MemoryError, match="all rows of which this search holds"):
        model_stability(
            model, cut(X), cut(y), 1.0, loss="log_loss", computing=Computing(memory_limit=1 << 25)
        )


def test_files(tmp_path: object) -> None:
    pa = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'shiftmetrics[parquet]'")
    dataset = pytest.importorskip("pyarrow.dataset").dataset
    for number, first in enumerate((0, 150)):
        part = X.assign(died=y).iloc[first : first + (150, 250)[number]]
        part.to_parquet(tmp_path / f"{number}.parquet", row_group_size=70)
    rows = dataset(tmp_path, format="parquet")
    labels = rows.replace_schema(pa.schema([rows.schema.field("died")]))
    model = make_pipeline(ONE_HOT, LogisticRegression(max_iter=2000)).fit(X, y)
    same(model_stability(model, rows, labels, 0.45), model_stability(model, X, y, 0.45))
    (tmp_path / "1.parquet").write_bytes(b"PAR1 broken")
    with pytest.raises(ValueError, match="'.*1.parquet'"):
        model_stability(model, rows, labels, 0.45)


def test_labels_may_be_in_memory_or_cut_otherwise() -> None:
    model = LogisticRegression().fit(NUMBERS, y)
    exact = model_stability(model, NUMBERS, y, 0.45)
    for labels in (y, cut(y, (0, 400))):
        same(model_stability(model, cut(NUMBERS), labels, 0.45), exact)


def test_what_is_refused() -> None:
    model = LogisticRegression().fit(NUMBERS, y)
    rows, labels = cut(NUMBERS), cut(y)
    with pytest.raises(ValueError, match="y must be of length 400, got length 399"):
        model_stability(model, rows, y[:-1], 0.45)
    with pytest.raises(ValueError, match="labels that the model knows .* got 'maybe'"):
        model_stability(
            model, rows, labels.map_partitions(lambda part: part.replace("yes", "maybe")), 0.45
        )
    with pytest.raises(ValueError, match="none called 'w'"):
        model_stability(model, rows[["u", "v"]], labels, 0.45)
    with pytest.raises(MemoryError, match="X, of 400 rows"):
        model_stability(model, rows, labels, 0.45, computing=Computing(memory_limit=20_000))
    with pytest.raises(TypeError, match="can be read more than once, got generator"):
        model_stability(model, (part for part in [NUMBERS.to_numpy()]), y, 0.45)


def test_projections_of_one_frame_are_cut_alike(tmp_path: Path) -> None:
    """Dask joins files where few of their columns are read: one column has fewer partitions than ten."""
    pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'shiftmetrics[parquet]'")
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(640, 21))).rename(
        columns="c{}".format
    )
    rows["c20"] = (rows["c0"] + rows["c1"] > 0.0).astype(int)
    for number in range(16):
        rows[40 * number : 40 * number + 40].to_parquet(tmp_path / f"{number:02}.parquet")
    frame = dataframe.read_parquet(tmp_path)
    features = [f"c{k}" for k in range(20)]
    assert len(frame["c20"].to_delayed()) <= len(frame[features].to_delayed())
    model = LogisticRegression().fit(rows[features], rows["c20"])
    found = model_stability(model, frame[features], frame["c20"], 0.4)
    same(found, model_stability(model, rows[features], rows["c20"], 0.4))


def test_features_take_rows_to_memory_or_refuse_them() -> None:
    labels = cut(y)
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2)).fit(NUMBERS, y)
    exact = feature_stability(model, NUMBERS, y, 0.45)
    found = feature_stability(model, cut(NUMBERS), labels, 0.45)
    assert [part.feature for part in found.features] == [part.feature for part in exact.features]
    assert found.value == pytest.approx(exact.value, rel=1e-12)
    small = Computing(memory_limit=10_000)
    for call in (
        lambda: feature_stability(model, cut(NUMBERS), labels, 0.45, computing=small),
        lambda: least_changes(model, cut(NUMBERS), computing=small),
    ):
        with pytest.raises(MemoryError, match="X, of 400 rows that are not in memory, needs"):
            call()


def test_a_table_in_memory_counts_what_a_search_holds() -> None:
    model = LogisticRegression().fit(NUMBERS, y)
    limit = Computing(memory_limit=300_000)
    for call in (model_stability, feature_stability):
        with pytest.raises(MemoryError, match="X, of 400 rows, needs"):
            call(model, NUMBERS, y, 0.45, computing=limit)
