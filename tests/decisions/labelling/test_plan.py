"""The plan of labels: a random permutation that can be made again, and the numbers that it promises."""

from dataclasses import replace

import numpy as np
import pytest

from shiftmetrics.decisions.labelling.plan import (
    LabelPlan,
    digest_of,
    draw_plan,
    plan_from_text,
    planned_half_width,
    planned_labels,
)

ROWS = np.arange(3, 300, 3)


def a_plan(n_labels: int = 20, rng: object = 7) -> LabelPlan:
    return draw_plan(
        ROWS, n_samples=400, n_labels=n_labels, mode="exact", digest="ab" * 32, rng=rng
    )


def test_the_order_is_the_permutation_of_the_seed() -> None:
    plan = a_plan()
    assert plan.order.tolist() == np.random.default_rng(7).permutation(ROWS).tolist()
    assert plan.rows.tolist() == plan.order[:20].tolist()
    assert plan.probability == 20 / len(ROWS)
    assert a_plan(rng=np.random.default_rng(1)).seed != a_plan(rng=np.random.default_rng(2)).seed


def test_a_longer_plan_of_one_seed_begins_alike() -> None:
    assert a_plan(50).rows[:20].tolist() == a_plan(20).rows.tolist()


def test_every_row_is_as_likely_as_the_others() -> None:
    counts = np.zeros(400)
    for seed in range(2000):
        counts[a_plan(rng=seed).rows] += 1
    expected = 2000 * 20 / len(ROWS)
    assert np.abs(counts[ROWS] - expected).max() < 5.0 * np.sqrt(expected)


def test_a_plan_is_rebuilt_from_its_text() -> None:
    plan = a_plan()
    again = plan_from_text(plan.text, ROWS, n_samples=400, digest=plan.digest)
    assert again.equals(plan)


def test_a_plan_of_other_files_is_refused() -> None:
    plan = a_plan()
    with pytest.raises(ValueError, match="labels"):
        plan_from_text(plan.text, ROWS, n_samples=400, digest="cd" * 32)
    with pytest.raises(ValueError, match="labels"):
        plan_from_text(plan.text, ROWS[1:], n_samples=400, digest=plan.digest)
    with pytest.raises(ValueError, match="labels"):
        plan_from_text("forty labels", ROWS, n_samples=400, digest=plan.digest)


@pytest.mark.parametrize(
    ("fraction", "n_samples", "for_two", "for_one"),
    [
        (0.05, 2000, 21, 52), (0.10, 2000, 69, 136), (0.20, 2000, 205, 324), (0.40, 2000, 543, 715),
        (0.05, 10000, 25, 87), (0.10, 10000, 96, 296), (0.20, 10000, 348, 914), (0.40, 10000, 1184, 2509),
    ],
)  # fmt: skip
def test_the_numbers_of_labels_are_the_measured_ones(
    fraction: float, n_samples: int, for_two: int, for_one: int
) -> None:
    n_changed = round(fraction * n_samples)
    assert planned_labels(0.02, n_changed, n_samples) == pytest.approx(for_two, abs=1)
    assert planned_labels(0.01, n_changed, n_samples) == pytest.approx(for_one, abs=1)


def test_half_width_and_number_are_inverse() -> None:
    for n_labels in (5, 40, 96):
        half_width = planned_half_width(n_labels, 97, 2000)
        assert planned_labels(half_width, 97, 2000) == n_labels
    assert planned_half_width(97, 97, 2000) == 0.0
    assert planned_labels(0.0, 97, 2000) == 97
    assert planned_labels(0.01, 0, 2000) == 0


def test_no_label_is_not_a_plan() -> None:
    with pytest.raises(ValueError, match="plan"):
        a_plan(0)
    assert a_plan(10**6).n_labels == len(ROWS)


def test_a_digest_tells_arrays_apart() -> None:
    first = np.array(["a", "b"])
    assert digest_of(first, np.arange(2)) == digest_of(first.copy(), np.arange(2))
    others = [(first[::-1], np.arange(2)), (first, np.arange(3)), (np.arange(2), first)]
    assert digest_of(first, np.arange(2)) not in {digest_of(*parts) for parts in others}


def test_rows_are_sampled_in_proportion_to_their_sizes() -> None:
    """The first row, and the second of those that are left, against their probabilities."""
    sizes = np.array([1.0, 2.0, 3.0, 0.0])
    first = np.zeros(4)
    second = np.zeros(4)
    n = 3000
    for seed in range(n):
        plan = draw_plan(
            np.arange(4), n_samples=9, n_labels=2, mode="exact", digest="d", sizes=sizes, rng=seed
        )
        np.testing.assert_array_equal(plan.sizes, sizes[plan.order])
        assert plan.order[3] == 3
        first[plan.order[0]] += 1 / n
        if plan.order[0] == 2:
            second[plan.order[1]] += 1
    np.testing.assert_allclose(first, sizes / 6.0, atol=0.03)
    np.testing.assert_allclose(second / second.sum(), [1 / 3, 2 / 3, 0.0, 0.0], atol=0.04)


def test_half_widths_have_the_unit_of_the_plan() -> None:
    """Signs by the formula of a simple random sample; by size and at any time as much wider as measured."""
    signs = 2.05 * 0.25 * np.sqrt((1.0 - 25 / 100) / 25)
    kinds = [("exact", None, 1.0), ("exact", np.ones(100), 1.15), ("anytime", np.ones(100), 1.3)]
    for mode, sizes, wider in kinds:
        plan = LabelPlan(
            order=np.arange(100),
            n_labels=25,
            mode=mode,
            seed=0,
            digest="d",
            n_samples=400,
            sizes=sizes,
        )
        assert plan.half_width(25) == pytest.approx(wider * signs)
        assert plan.n_labels_for(wider * signs) == 25
        assert replace(plan, scale=3.0).half_width(25) == pytest.approx(3.0 * wider * signs)
    assert plan.half_width(100) == 0.0


def test_probabilities_by_size_sum_to_one_and_few_rows_have_theirs() -> None:
    plan = draw_plan(
        np.arange(3),
        n_samples=9,
        n_labels=1,
        mode="exact",
        digest="d",
        sizes=np.array([1.0, 2, 5]),
        rng=0,
    )
    assert plan.n_labels == 1
    np.testing.assert_allclose(plan.probability, plan.sizes / 8.0)
    one = draw_plan(np.arange(1), n_samples=9, n_labels=1, mode="exact", digest="d", rng=0)
    assert one.probability == 1.0
