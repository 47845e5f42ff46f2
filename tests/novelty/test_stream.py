"""Streams: blocks, orders and shards add up to the novelty of all rows."""

import pickle

import numpy as np
import pytest
import torch

from shiftmetrics.novelty import (
    CosineMap,
    FourierMap,
    LandmarkMap,
    NoveltyResult,
    NoveltyStatus,
    NoveltyStream,
    kernel_entropic_novelty,
)
from shiftmetrics.novelty.feature_map import FeatureMap
from shiftmetrics.novelty.subsample import KeptRows


def samples(seed: int, n: int, m: int, columns: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, columns)), rng.normal(size=(m, columns))
    x[: n // 2] += 3.0
    return x, y


X, Y = samples(0, 900, 700)
MAPS: dict[str, FeatureMap] = {
    "landmarks": LandmarkMap.choose(X[:300], Y[:300], bandwidth=1.0, max_rank=260),
    "fourier": FourierMap.draw(2, bandwidth=1.0, n_frequencies=80, rng=3),
    "cosine": CosineMap(2),
}


@pytest.fixture(params=sorted(MAPS))
def feature_map(request: pytest.FixtureRequest) -> FeatureMap:
    return MAPS[request.param]


def whole(feature_map: FeatureMap, **options: object) -> NoveltyResult:
    return NoveltyStream(feature_map, rng=0).partial_fit(X, Y).result(**options)


def test_blocks_and_shards_add_up(feature_map: FeatureMap) -> None:
    expected = whole(feature_map)
    blocks = NoveltyStream(feature_map, rng=1)
    for start in range(0, 900, 130):
        blocks.partial_fit(X[start : start + 130])
    for start in range(0, 700, 70):
        blocks.partial_fit(reference=Y[start : start + 70])
    one = NoveltyStream(feature_map, rng=2).partial_fit(X[500:], Y[:10])
    two = NoveltyStream(feature_map, rng=3).partial_fit(X[:500], Y[10:])
    for stream in (blocks, one.merge(two), two + one):
        result = stream.result()
        assert (result.n_samples, result.n_reference) == (900, 700)
        assert result.method == expected.method
        k = min(len(result.eigenvalues), len(expected.eigenvalues))
        np.testing.assert_allclose(result.eigenvalues[:k], expected.eigenvalues[:k], atol=1e-10)
        if not isinstance(feature_map, FourierMap):
            assert result.value == pytest.approx(expected.value, abs=1e-8)
        assert result.modes[0].frequency == pytest.approx(expected.modes[0].frequency, abs=1e-9)
    assert one.n_samples == 400  # merging leaves its parts alone


@pytest.mark.parametrize("eta", [1.0, 3.0])
def test_a_stream_of_landmarks_keeps_the_certificate(eta: float) -> None:
    exact = kernel_entropic_novelty(
        X, Y, bandwidth=1.0, eta=eta, method="dense", reverse=True, n_permutations=0
    )
    result = whole(MAPS["landmarks"], eta=eta, reverse=True, rotation="none")
    assert result.status is NoveltyStatus.CERTIFIED
    assert result.value - 1e-9 <= exact.value <= result.value + result.error_bound
    assert abs(result.reverse - exact.reverse) <= result.reverse_error_bound
    assert result.error_bound < 0.2
    np.testing.assert_allclose(result.eigenvalues[:4], exact.eigenvalues[:4], atol=1e-6)
    np.testing.assert_allclose(result.point_novelty(X[:50]), exact.point_novelty(X[:50]), atol=0.02)
    np.testing.assert_allclose(result.modes[0].score(X), exact.modes[0].membership, atol=1e-4)
    assert result.modes[0].frequency == pytest.approx(exact.modes[0].frequency, abs=1e-5)


def test_a_stream_of_columns_is_exact() -> None:
    exact = kernel_entropic_novelty(X, Y, kernel="cosine", n_permutations=0)
    result = whole(MAPS["cosine"])
    assert result.status is NoveltyStatus.EXACT
    assert result.value == pytest.approx(exact.value, abs=1e-12)


def test_a_stream_of_frequencies_scores_the_kept_rows_by_an_exact_route() -> None:
    stream = NoveltyStream(MAPS["fourier"], kept_rows=100, rng=0).partial_fit(X, Y)
    result = stream.result(n_modes=3)
    assert result.status is NoveltyStatus.SAMPLED
    assert (result.score_rows, result.n_frequencies) == ((100, 100), 80)
    exact = kernel_entropic_novelty(
        stream.test_rows, stream.reference_rows, bandwidth=1.0, method="dense", n_permutations=0
    )
    assert result.value == pytest.approx(exact.value, abs=1e-9)
    novelty = result.point_novelty(X).mean() - result.point_novelty(Y).mean()
    assert novelty == pytest.approx(result.eigenvalues.sum(), abs=1e-9)
    assert any("no score should be made of them" in warning for warning in result.warnings)
    everything = whole(MAPS["fourier"])
    assert everything.score_rows is None  # all rows are kept


def test_members_and_exemplars_are_among_the_kept_rows() -> None:
    stream = NoveltyStream(MAPS["landmarks"], kept_rows=60, rng=0).partial_fit(X, Y)
    mode = stream.result().modes[0]
    rows = stream.test_rows[mode.top(5)]
    np.testing.assert_allclose(mode.score(rows), np.sort(mode.membership)[::-1][:5], atol=1e-12)
    assert {tuple(row) for row in stream.test_rows} <= {tuple(row) for row in X}
    assert stream.reference_rows.shape == (60, 2)
    assert "among the rows that were kept, at most 60 of each sample" in stream.result().summary()
    assert "rows that were kept" not in whole(MAPS["landmarks"]).summary()


def test_weights_are_repeated_rows(feature_map: FeatureMap) -> None:
    counts = np.random.default_rng(0).integers(0, 4, size=900)
    weighted = NoveltyStream(feature_map, rng=0)
    for part in np.array_split(np.arange(900), 3):
        weighted.partial_fit(X[part], sample_weight=counts[part])
    repeated = NoveltyStream(feature_map, rng=0).partial_fit(np.repeat(X, counts, axis=0), Y)
    found, expected = weighted.partial_fit(reference=Y).result().eigenvalues, repeated.result().eigenvalues
    k = min(len(found), len(expected))
    np.testing.assert_allclose(found[:k], expected[:k], atol=1e-10)


def test_tensors_give_the_same(feature_map: FeatureMap) -> None:
    if isinstance(feature_map, LandmarkMap):  # landmarks live where the rows do
        feature_map = LandmarkMap.choose(
            torch.asarray(X[:300]), torch.asarray(Y[:300]), bandwidth=1.0, max_rank=260
        )
    stream = NoveltyStream(feature_map, rng=0).partial_fit(torch.asarray(X), torch.asarray(Y))
    expected = whole(MAPS[{LandmarkMap: "landmarks", FourierMap: "fourier"}.get(type(feature_map), "cosine")])
    found = stream.result().eigenvalues
    np.testing.assert_allclose(found[:4], expected.eigenvalues[:4], atol=1e-9)


def test_a_stream_pickles_and_its_result_travels_through_json(feature_map: FeatureMap) -> None:
    stream = pickle.loads(pickle.dumps(NoveltyStream(feature_map, rng=0).partial_fit(X, Y)))
    result = stream.result(n_modes=2)
    assert NoveltyResult.from_json(result.to_json()).equals(result)
    assert result.settings["feature_map"] == type(feature_map).__name__


def test_kept_rows_are_a_uniform_sample_of_all() -> None:
    """Each row is kept about as often as any other, whatever block or shard it came in."""
    rows = np.arange(60.0)[:, None]
    times = np.zeros(60)
    for seed in range(600):
        one = KeptRows(10, np.random.default_rng([seed, 0]))
        for start, stop in ((0, 5), (5, 25), (25, 27)):
            one.add(rows[start:stop], np.ones(stop - start))
        two = KeptRows(10, np.random.default_rng([seed, 1]))
        two.add(rows[27:], np.ones(33))
        kept = one.merged(two).rows
        assert len(kept) == 10
        times[kept[:, 0].astype(int)] += 1
    assert times.sum() == 6000
    assert np.abs(times - 100).max() < 5 * np.sqrt(100 * 5 / 6)


def test_bad_input_is_named_and_changes_nothing() -> None:
    stream = NoveltyStream(MAPS["landmarks"], rng=0).partial_fit(X[:100], Y[:100])
    before = stream.result().value
    bad = Y[:5].copy()
    bad[2, 1] = np.nan
    with pytest.raises(ValueError, match=r"reference must be finite everywhere"):
        stream.partial_fit(X[:5], bad)
    with pytest.raises(ValueError, match=r"features or reference must be given"):
        stream.partial_fit()
    with pytest.raises(ValueError, match=r"sample_weight must be given with features"):
        stream.partial_fit(reference=Y, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match=r"features must be of 2 columns, got 3"):
        stream.partial_fit(np.ones((4, 3)))
    with pytest.raises(ValueError, match=r"sample_weight must be at least 0"):
        stream.partial_fit(X[:2], sample_weight=[-1.0, 1.0])
    assert stream.result().value == before
    with pytest.raises(ValueError, match=r"reference must be at least 2 rows of positive weight, got 0"):
        NoveltyStream(MAPS["cosine"]).partial_fit(X).result()
    with pytest.raises(TypeError, match=r"feature_map must be a LandmarkMap"):
        NoveltyStream("fourier")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"the same feature_map"):
        stream.merge(NoveltyStream(MAPS["cosine"]))
    with pytest.raises(TypeError, match=r"other must be a NoveltyStream"):
        stream.merge(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"eta must be a number at least 1"):
        stream.result(eta=0.5)


def test_a_stream_is_calibrated_on_the_rows_it_kept(feature_map: FeatureMap) -> None:
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(2, 900, 2)) * 0.5 + np.array([0.0, 3.0])
    x[:300] += [9.0, 0.0]
    y[:200] -= [9.0, 0.0]
    if not isinstance(feature_map, CosineMap):
        center = np.concatenate([x, y])
        feature_map = (
            LandmarkMap.choose(x[:100], y[:100], bandwidth=2.0)
            if isinstance(feature_map, LandmarkMap)
            else FourierMap.draw(2, bandwidth=2.0, n_frequencies=100, rng=1, center=center.mean(axis=0))
        )
    stream = NoveltyStream(feature_map, kept_rows=200, rng=0).partial_fit(x, y)
    result = stream.result()
    assert (result.null.n_test, result.null.n_reference) == (200, 200)
    if not isinstance(feature_map, CosineMap):  # a score of one mode is 0, with any labels
        assert result.p_value == pytest.approx(1 / 21)
        assert result.reverse_null.p_value == pytest.approx(1 / 21)
    assert result.n_significant >= 1
    lost = result.lost_modes[0]
    assert lost.lost
    if not isinstance(feature_map, CosineMap):  # which cannot tell a direction from its opposite
        assert (stream.test_rows[result.modes[0].top(10), 0] > 4.0).all()
        assert (stream.reference_rows[lost.top(10, of="reference"), 0] < -4.0).all()
    # Frequencies are those of all rows: modes that are rotated or not, gained or lost.
    for mode in (*result.modes, *result.lost_modes):
        assert mode.frequency == pytest.approx(mode.score(x).mean(), abs=0.02)
        assert mode.reference_frequency == pytest.approx(mode.score(y).mean(), abs=0.02)
        sign = -1.0 if mode.lost else 1.0
        assert mode.eigenvalue == pytest.approx(sign * (mode.frequency - mode.reference_frequency), abs=1e-6)
    assert "in excess of relabelled rows" in result.summary()
    plain = stream.result(n_permutations=0)
    assert plain.null is None
    assert plain.n_significant is None
    assert stream.result(reverse=False).reverse_null is None


def test_maps_that_place_rows_elsewhere_do_not_merge() -> None:
    rows = np.arange(6.0).reshape(3, 2)
    here, there = (LandmarkMap.choose(part, part, bandwidth=1.0) for part in (rows, rows + 7.0))
    wider = LandmarkMap.choose(2.0 * rows, 2.0 * rows, bandwidth=2.0)
    np.testing.assert_array_equal(
        here.whitening, there.whitening
    )  # the same distances, and still other landmarks
    np.testing.assert_array_equal(here.whitening, wider.whitening)
    centered = FourierMap.draw(2, bandwidth=1.0, n_frequencies=5, center=np.ones(2))
    for one, other in (
        (here, there),
        (here, wider),
        (centered, FourierMap.draw(2, bandwidth=1.0, n_frequencies=5)),  # the center turns the coordinates
        (CosineMap(2), CosineMap(3)),
        (CosineMap(2), here),
    ):
        with pytest.raises(ValueError, match="a stream with the same feature_map"):
            NoveltyStream(one, rng=0) + NoveltyStream(other, rng=1)
    for one, other in (
        (here, LandmarkMap.choose(rows, rows, bandwidth=1.0)),
        (centered, FourierMap.draw(2, bandwidth=1.0, n_frequencies=5, center=np.ones(2))),
        (CosineMap(2), CosineMap(2)),
    ):
        assert isinstance(NoveltyStream(one, rng=0) + NoveltyStream(other, rng=1), NoveltyStream)


@pytest.mark.parametrize(
    ("bandwidth", "text"),
    [(0.01, "a mode of its own"), (1e3, "nearly alike"), (0.4, "few rows, 300, for its")],
)
@pytest.mark.parametrize("by_landmarks", [True, False])
def test_streams_warn_of_degenerate_bandwidths_and_few_rows(
    bandwidth: float, text: str, by_landmarks: bool
) -> None:
    x, y = samples(1, 300, 300)
    feature_map = (
        LandmarkMap.choose(x, y, bandwidth=bandwidth, max_rank=600)
        if by_landmarks
        else FourierMap.draw(2, bandwidth=bandwidth, n_frequencies=50)
    )
    result = NoveltyStream(feature_map, kept_rows=300, rng=0).partial_fit(x, y).result(n_permutations=0)
    assert any(text in warning for warning in result.warnings)


def test_a_stream_with_enough_rows_has_no_warning() -> None:
    x, y = samples(1, 3000, 3000)
    stream = NoveltyStream(LandmarkMap.choose(x, y, bandwidth=2.0), kept_rows=50, rng=0)
    assert stream.partial_fit(x, y).result(n_permutations=0).warnings == ()
    uneven = NoveltyStream(stream.feature_map, kept_rows=3000, rng=0)
    weights = np.where(np.arange(3000) % 100, 1e-9, 1.0)
    result = uneven.partial_fit(x, y, sample_weight=weights).result(n_permutations=0)
    assert any(
        "features has few rows, 3000, as good as 30 by their weights, for its" in text
        for text in result.warnings
    )


def test_a_map_that_does_not_fit_in_memory_is_refused_in_words() -> None:
    wide = FourierMap.draw(2, bandwidth=1.0, n_frequencies=200_000)
    with pytest.raises(MemoryError, match="feature_map of 400000 coordinates needs .* Take fewer landmarks"):
        NoveltyStream(wide)
    small = NoveltyStream(CosineMap(2), memory_limit=1 << 30)
    assert small.merge(small).memory_limit == 1 << 30
    with pytest.raises(MemoryError, match="got a limit of 1 KiB"):
        NoveltyStream(CosineMap(2), memory_limit=1 << 10)
