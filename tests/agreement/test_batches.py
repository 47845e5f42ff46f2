"""Batches that are read several times: the certified answer of all pairs; bad batches."""

import itertools
from collections.abc import Iterator
from operator import attrgetter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from optional import torch
from shiftmetrics import Computing
from shiftmetrics._core.chunk_readers import of_batches
from shiftmetrics.agreement import posterior_agreement

GOOD = [([[1.0, 2.0]], [[1.0, 2.0]])]


class Loader:
    """Batches of tensors, read anew each time, as a torch DataLoader gives them."""

    def __init__(self, scores: np.ndarray, reference: np.ndarray, noise: float = 0.0) -> None:
        self.pair, self.noise = (torch.tensor(scores), torch.tensor(reference)), noise

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        order = torch.randperm(len(self.pair[0]))
        for rows in order.split(70):
            scores, reference = (side[rows] for side in self.pair)
            yield scores + self.noise * torch.randn(scores.shape), reference


@pytest.mark.slow
@given(seed=st.integers(0, 50), cuts=st.lists(st.integers(1, 299), max_size=4))
def test_batches_do_not_matter(seed: int, cuts: list[int]) -> None:
    scores, reference = oracles.hard_pairs(seed)
    ends = sorted({0, len(scores), *cuts})
    parts = [(scores[i:j], reference[i:j]) for i, j in itertools.pairwise(ends)]
    whole, split = posterior_agreement(scores, reference), posterior_agreement(parts)
    assert split.value == pytest.approx(whole.value, abs=2e-6)
    assert split.status == whole.status
    for name in ("n_samples", "changes.disagreement", "effective_classes", "log_pa"):
        assert attrgetter(name)(split) == pytest.approx(attrgetter(name)(whole), rel=1e-5)
    assert split.per_sample is None


@pytest.mark.parametrize("prior", [None, "predicted", [0.2, 0.3, 0.5]])
def test_a_shuffled_loader_gives_the_certified_value(prior: object) -> None:
    scores, reference = oracles.hard_pairs(1)
    computing = Computing(atol=1e-9)
    whole = posterior_agreement(scores, reference, prior=prior, computing=computing)
    split = posterior_agreement(Loader(scores, reference), prior=prior, computing=computing)
    assert split.value == pytest.approx(whole.value, abs=2e-9)
    np.testing.assert_allclose(split.prior, whole.prior)
    at = posterior_agreement(Loader(scores, reference), prior=prior, beta=0.7)
    assert at.value == pytest.approx(
        posterior_agreement(scores, reference, prior=prior, beta=0.7).value
    )
    assert at.status.code == "evaluated"


class Counted:
    """Batches that count how often they are read."""

    def __init__(self, batches: list[object]) -> None:
        self.batches, self.readings = batches, 0

    def __iter__(self) -> Iterator[object]:
        self.readings += 1
        return iter(self.batches)


def test_rows_that_were_kept_place_the_first_betas() -> None:
    rng = np.random.default_rng(0)
    reference = 3.0 * rng.normal(size=(9000, 6))
    scores = reference + rng.normal(size=reference.shape)
    exact = posterior_agreement(scores, reference)
    cuts = [0, 1, 700, 2500, 2501, 6000, 9000]
    batches = Counted([(scores[i:j], reference[i:j]) for i, j in itertools.pairwise(cuts)])
    result = posterior_agreement(batches)
    assert result.value == pytest.approx(exact.value, abs=2e-6)
    assert result.search.n_passes <= exact.search.n_passes + 1
    assert (
        batches.readings == result.search.n_passes + 3
    )  # to learn the sizes, the limits, and the confident changes
    halves = [
        scores[:4000].astype("f4"),
        scores[4000:].astype("f4"),
    ]  # the samples in batches of their own
    for other in (reference, [reference[:1000], reference[1000:]]):
        split = posterior_agreement(halves, other)
        assert split.value == pytest.approx(exact.value, abs=1e-5)
        assert split.search.n_passes <= exact.search.n_passes + 1


def test_kept_rows_are_evenly_spread_and_fit_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.arange(30_000.0).reshape(10_000, 3)
    for cuts in ([0, 10_000], [0, 3, 3, 4000, 4001, 10_000]):
        parts = of_batches([rows[i:j] for i, j in itertools.pairwise(cuts)], "rows")
        np.testing.assert_array_equal(parts.kept, rows[:: parts.kept_step])
        assert 1000 < len(parts.kept) <= 2000
    monkeypatch.setattr("shiftmetrics._core.chunk_readers.KEPT_BYTES", 2400)
    parts = of_batches([rows], "rows")
    np.testing.assert_array_equal(parts.kept, rows[:: parts.kept_step])
    assert 1200 < parts.kept.nbytes <= 2400


def test_other_pairs_at_each_reading_are_refused() -> None:
    with pytest.raises(ValueError, match="the same rows each time that it is read, got others"):
        posterior_agreement(Loader(*oracles.hard_pairs(1), noise=0.1))


def test_probabilities_of_all_batches_have_one_floor() -> None:
    scores, reference = oracles.hard_pairs(2)
    p, q = (torch.softmax(torch.tensor(side), dim=1).numpy() for side in (scores, reference))
    p[0] = np.eye(p.shape[1])[1]
    for floor in (None, 1e-4):
        exact = posterior_agreement(p, q, kind="probabilities", floor=floor)
        batches = [(p[:100], q[:100]), (p[100:], q[100:])]
        split = posterior_agreement(batches, kind="probabilities", floor=floor)
        assert split.value == pytest.approx(exact.value, abs=2e-6)
        assert split.settings["floor"] == exact.settings["floor"]


@pytest.mark.parametrize(
    ("batches", "options", "message"),
    [
        ([], {}, "scores must be batches, at least one"),
        (iter(GOOD), {}, "can be read more than once"),
        (np.ones((2, 2)), {}, "Pass reference_scores"),
        (
            [[1.0, 2.0, 3.0]],
            {},
            r"scores must be batches of \(scores, reference_scores\), got 3 parts",
        ),
        ([([[1.0, np.nan]], [[1.0, 2.0]])], {}, "scores must be finite"),
        ([([[1.0, 2.0]], [[1.0, 2.0], [1.0, 2.0]])], {}, "same shape"),
        (
            [(np.ones((2, 3)), np.ones((2, 3))), (np.ones((2, 4)), np.ones((2, 4)))],
            {},
            "scores must be of batches with as many columns each",
        ),
        ([([1, 0], [1, 0])], {}, "real margins"),
        (GOOD, {"kind": "logits"}, "kind must be one of"),
        (GOOD, {"sample_weight": [1.0]}, "sample_weight must be None for batches"),
    ],
)
def test_bad_batches_are_named(batches: object, options: dict, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        posterior_agreement(batches, **options)
