"""Batches and memory maps: the same function, the same answer as for arrays in memory."""

import numpy as np
import pytest

from calls import novelty
from optional import torch
from shiftmetrics._core.chunk_readers import is_batches, of_batches
from shiftmetrics.novelty import NoveltyResult, inputs


def samples(seed: int, n: int, m: int, columns: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, columns)), rng.normal(size=(m, columns))
    x[: n // 2] += 3.0
    return x, y


X, Y = samples(0, 900, 700)


class Reader:
    """Batches that are made anew each time, and count how often."""

    def __init__(self, rows: np.ndarray, size: int, convert=np.asarray) -> None:
        self.rows, self.size, self.convert, self.passes = rows, size, convert, 0

    def __iter__(self):
        self.passes += 1
        for start in range(0, len(self.rows), self.size):
            yield self.convert(self.rows[start : start + self.size])


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a thousand rows too many to join."""
    monkeypatch.setattr(inputs, "JOINED_ROWS", 100)


def same(first: NoveltyResult, second: NoveltyResult) -> None:
    assert first.score.method == second.score.method
    assert (first.n_samples, first.n_reference) == (second.n_samples, second.n_reference)
    assert first.value == pytest.approx(second.value, abs=1e-9)
    assert first.error_bound == pytest.approx(second.error_bound, abs=1e-9)
    np.testing.assert_allclose(
        first.score.eigenvalues[:5], second.score.eigenvalues[:5], atol=1e-10
    )
    for mode, other in zip(first.new[:3], second.new[:3], strict=True):
        np.testing.assert_allclose(mode.membership, other.membership, atol=1e-6)
        np.testing.assert_array_equal(mode.top(5), other.top(5))
    assert first.p_value == second.p_value
    np.testing.assert_allclose(first.row_scores, second.row_scores, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"method": "landmarks", "bandwidth": 1.0},
        {"method": "cosine", "kernel": "cosine"},
        {"method": "landmarks", "eta": 3.0},
    ],
)
@pytest.mark.usefixtures("few_are_many")
def test_batches_give_what_one_array_gives(options: dict) -> None:
    expected = novelty(X, Y, **options)
    for x, y in (
        (Reader(X, 130), Reader(Y, 70)),
        (Reader(X, 900), Y),
        (X, [Y[:1], Y[1:650], Y[650:]]),
    ):
        same(novelty(x, y, **options), expected)


@pytest.mark.slow
def test_few_rows_are_joined_for_every_route() -> None:
    for method in ("auto", "dense", "landmarks"):
        same(
            novelty(Reader(X[:200], 64), Reader(Y[:100], 64), method=method),
            novelty(X[:200], Y[:100], method=method),
        )


@pytest.mark.slow
@pytest.mark.usefixtures("few_are_many")
def test_auto_takes_a_feature_map_and_dense_is_refused() -> None:
    result = novelty(Reader(X, 64), Reader(Y, 64), bandwidth=2.0)
    assert result.score.method == "landmarks"
    assert result.point_novelty(X[:5]).shape == (5,)
    assert NoveltyResult.from_json(result.to_json()).equals(result)
    with pytest.raises(
        ValueError, match="method must be 'auto', 'landmarks' or 'cosine' for batches"
    ):
        novelty(Reader(X, 64), Reader(Y, 64), method="dense")


@pytest.mark.slow
@pytest.mark.usefixtures("few_are_many")
def test_weights_tensors_and_single_precision() -> None:
    weights = np.random.default_rng(0).uniform(0.1, 2.0, size=900)
    options = {"method": "landmarks", "bandwidth": 1.0}
    expected = novelty(X, Y, sample_weight=weights, **options)
    same(novelty(Reader(X, 200), Reader(Y, 200), sample_weight=weights, **options), expected)
    tensors = Reader(X, 200, torch.asarray), Reader(Y, 200, torch.asarray)
    same(novelty(*tensors, sample_weight=weights, **options), expected)


@pytest.mark.slow
def test_a_memory_map_is_an_array(tmp_path) -> None:
    np.save(tmp_path / "x.npy", X)
    same(
        novelty(np.load(tmp_path / "x.npy", mmap_mode="r"), Y, bandwidth=1.0),
        novelty(X, Y, bandwidth=1.0),
    )


def test_rows_in_any_order() -> None:
    rows = of_batches(Reader(X, 70), "features")
    assert rows.shape == (900, 2)
    for start, stop in ((0, 10), (10, 300), (290, 295), (880, 900), (0, 900)):
        np.testing.assert_array_equal(rows[start:stop, ...], X[start:stop])
    positions = np.array([880, 3, 71, 3])
    np.testing.assert_array_equal(rows[positions], X[positions])
    np.testing.assert_array_equal(np.asarray(rows), X)


def test_blocks_in_order_take_one_pass() -> None:
    reader = Reader(X, 70)
    rows = of_batches(reader, "features")
    before = reader.passes
    for start in range(0, 900, 100):
        rows[start : start + 100]
    assert reader.passes == before + 1


def test_what_counts_as_batches() -> None:
    assert is_batches([X, Y])
    assert is_batches(Reader(X, 9))
    assert is_batches(iter([X]))
    for value in (X, torch.asarray(X), X.tolist(), [1.0], [], "text", 3):
        assert not is_batches(value)


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        (iter([X, Y]), "features must be an iterable of batches that can be read more than once"),
        ([X, Y[:, :1]], "features must be of batches with as many columns each"),
        (Reader(X[:0], 9), "features must be batches, at least one"),
        ([X, np.full((3, 2), np.nan)], "features must be finite everywhere"),
        ([X[:1]], r"features must be an array of at least 2 row\(s\)"),
    ],
)
def test_bad_batches_are_named(batches: object, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        novelty(batches, Y)


def test_a_reader_that_runs_dry_is_named() -> None:
    reader = Reader(X, 100)
    rows = of_batches(reader, "features")
    reader.rows = X[:300]
    with pytest.raises(
        ValueError, match="features must be the same 900 rows each time that it is read, got 300"
    ):
        rows[0:600]


@pytest.mark.slow
@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize(
    "options", [{"method": "landmarks", "bandwidth": 1.0}, {"method": "cosine", "kernel": "cosine"}]
)
def test_dask_and_stored_arrays_give_what_one_array_gives(tmp_path, options: dict) -> None:
    expected = novelty(X, Y, **options)
    array = pytest.importorskip("dask.array")
    split = (
        array.from_array(X, chunks=((300, 0, 1, 599), 2)),
        array.from_array(Y, chunks=((650, 50), 2)),
    )
    same(novelty(*split, **options), expected)
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        stored = file.create_dataset("x", data=X, chunks=(70, 2))
        same(novelty(stored, Y, **options), expected)
