"""Contributions: parts add up, every number by a loop over rows, the papers' approximation where it holds."""

import math

import numpy as np
import pandas as pd
import pytest

from oracles import agreement_rows
from shiftmetrics.agreement import (
    PosteriorAgreementResult,
    agreement_contributions,
    posterior_agreement,
)

RNG = np.random.default_rng(3)
LABELS = RNG.integers(5, size=400)
REFERENCE = RNG.normal(size=(400, 5)) + 2.5 * np.eye(5)[LABELS]
SCORES = REFERENCE + 1.3 * RNG.normal(size=(400, 5))


def softmax(scores: np.ndarray, beta: float) -> np.ndarray:
    terms = np.exp(beta * (scores - scores.max(axis=1, keepdims=True)))
    return terms / terms.sum(axis=1, keepdims=True)


def members() -> dict[str, np.ndarray]:
    right, kept = REFERENCE.argmax(1) == LABELS, REFERENCE.argmax(1) == SCORES.argmax(1)
    return {
        "right": right & kept,
        "wrong": ~right & kept,
        "misled": right & ~kept,
        "changed": ~right & ~kept,
    }


def test_parts_add_up_and_are_those_of_their_rows() -> None:
    split = agreement_contributions(SCORES, REFERENCE, LABELS)
    whole = posterior_agreement(SCORES, REFERENCE)
    assert split.value == whole.value
    assert sum(group.log_pa for group in split.contributions.groups.values()) == pytest.approx(
        whole.log_pa, rel=1e-12
    )
    rows = agreement_rows(SCORES, REFERENCE, whole.beta)
    for k, (name, inside) in enumerate(members().items()):
        group = split.contributions.groups[name]
        assert group.n_samples == inside.sum()
        assert group.fraction == pytest.approx(inside.mean())
        assert group.log_pa == pytest.approx(
            float(rows[inside].sum()) - inside.sum() * math.log(5), rel=1e-9
        )
        np.testing.assert_array_equal(split.contributions.per_sample_group == k, inside)


def test_confidence_is_the_mean_posterior() -> None:
    split = agreement_contributions(SCORES, REFERENCE, LABELS)
    for name, inside in members().items():
        group = split.contributions.groups[name]
        for found, scores, beta in (
            (group.confidence, SCORES, 1.0),
            (group.reference_confidence, REFERENCE, 1.0),
            (1.0 - group.lack, SCORES, split.beta),
            (1.0 - group.reference_lack, REFERENCE, split.beta),
        ):
            top = softmax(scores, beta).max(axis=1)[inside]
            assert found == pytest.approx(top.mean(), rel=1e-12)


def test_infinite_beta_and_empty_groups() -> None:
    split = agreement_contributions(REFERENCE * 2, REFERENCE, REFERENCE.argmax(1))
    assert split.status.code == "boundary"
    assert [group.n_samples for group in split.contributions.groups.values()] == [400, 0, 0, 0]
    assert split.contributions.groups["right"].lack == 0.0
    assert split.contributions.groups["misled"].confidence is None
    assert split.contributions.groups["right"].log_pa == pytest.approx(0.0, abs=1e-9)
    assert "No pair costs" in split.summary() or "right before" in split.summary()


def test_flat_scores() -> None:
    split = agreement_contributions(-REFERENCE, REFERENCE, LABELS)
    assert split.value == 0.0
    assert split.status.code == "no_agreement"
    assert split.contributions.groups["misled"].log_pa == pytest.approx(
        -split.contributions.groups["misled"].n_samples * math.log(5)
    )


def test_nobody_right() -> None:
    split = agreement_contributions([1.0, 2.0, -1.0], [1.0, 1.0, 1.0], [0, 0, 0])
    assert split.contributions.groups["right"].n_samples == 0
    assert split.summary()


def test_weights_count_as_repeated_rows() -> None:
    weights = np.random.default_rng(1).integers(1, 4, size=400)
    weighted = agreement_contributions(SCORES, REFERENCE, LABELS, sample_weight=weights)
    rows = np.repeat(np.arange(400), weights)
    repeated = agreement_contributions(SCORES[rows], REFERENCE[rows], LABELS[rows])
    for name, group in weighted.contributions.groups.items():
        other = repeated.contributions.groups[name]
        assert group.fraction == pytest.approx(other.fraction)
        assert group.lack == pytest.approx(other.lack, rel=1e-6)
        assert group.log_pa / 400 == pytest.approx(other.log_pa / len(rows), rel=1e-6)


def test_a_prior_leaves_the_split() -> None:
    split = agreement_contributions(SCORES, REFERENCE, LABELS, prior="predicted")
    whole = posterior_agreement(SCORES, REFERENCE, prior="predicted")
    assert split.value == pytest.approx(whole.value, abs=1e-9)
    assert sum(group.log_pa for group in split.contributions.groups.values()) == pytest.approx(
        whole.log_pa, rel=1e-6
    )


def test_only_a_uniform_prior_has_the_maximum_that_groups_fall_short_of() -> None:
    margins = np.where(np.arange(100) < 5, 1.0, -1.0)
    options = {"prior": "predicted"}
    split = agreement_contributions(margins, 2.0 * margins, margins > 0.0, **options)
    assert split.normalized == pytest.approx(1.0)
    assert "missing" not in split.summary()
    shifted = np.where(np.arange(100) < 10, -margins, margins)
    assert (
        "missing to its maximum"
        in agreement_contributions(shifted, margins, margins > 0.0).summary()
    )


def test_tables_match_by_label() -> None:
    names = list("abcde")
    index = [f"row {k}" for k in range(400)]
    scores = pd.DataFrame(SCORES, index=index, columns=names)
    reference = pd.DataFrame(REFERENCE, index=index, columns=names).sample(
        frac=1.0, random_state=0
    )[names[::-1]]
    labels = pd.Series(np.array(names)[LABELS], index=index).sample(frac=1.0, random_state=1)
    split = agreement_contributions(scores, reference, labels)
    plain = agreement_contributions(SCORES, REFERENCE, LABELS)
    assert split.value == pytest.approx(plain.value, abs=1e-9)
    assert [g.n_samples for g in split.contributions.groups.values()] == [
        g.n_samples for g in plain.contributions.groups.values()
    ]


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (["p1", "p2", "p3", "p4", "p5"], LABELS + 1),
        (["p1", "p2", "p3", "p4", "p5"], LABELS + 1.0),
        (["p_a", "p_b", "p_c", "p_d", "p_e"], np.array(list("abcde"))[LABELS]),
        (["1", "2", "3", "4", "5"], LABELS + 1),
        ([1, 2, 3, 4, 5], [str(label + 1) for label in LABELS]),
        (["class0", "class1", "class2", "class3", "class4"], LABELS),
    ],
)
def test_labels_say_what_columns_are_called(names: list[object], labels: object) -> None:
    split = agreement_contributions(
        pd.DataFrame(SCORES, columns=names), pd.DataFrame(REFERENCE, columns=names), labels
    )
    plain = agreement_contributions(SCORES, REFERENCE, LABELS)
    assert [g.n_samples for g in split.contributions.groups.values()] == [
        g.n_samples for g in plain.contributions.groups.values()
    ]


def test_labels_that_no_column_is_called_are_refused() -> None:
    names = ["p1", "p2", "p3", "p4", "p5"]
    tables = pd.DataFrame(SCORES, columns=names), pd.DataFrame(REFERENCE, columns=names)
    with pytest.raises(ValueError, match=r"column names p1, p2, p3, ...\), got 0 at row"):
        agreement_contributions(*tables, LABELS)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            np.full(400, 5),
            r"labels must be classes of the scores \(column positions 0, 1, 2, ...\), got 5 at row 0",
        ),
        (np.full(400, -1), "got -1 at row 0"),
        (np.full(400, 0.5), "got 0.5 at row 0"),
        (np.full(400, "a"), "got a at row 0"),
        (np.zeros(399, dtype=int), "labels must be of length 400"),
        (np.zeros((400, 1)), "labels must be one label for each row"),
    ],
)
def test_bad_labels_are_named(labels: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        agreement_contributions(SCORES, REFERENCE, labels)


def test_json_and_table() -> None:
    split = agreement_contributions(SCORES, REFERENCE, LABELS)
    assert PosteriorAgreementResult.from_json(split.to_json()).equals(split)
    frame = split.contributions.to_frame()
    assert list(frame["group"]) == ["right", "wrong", "misled", "changed"]
    assert frame["log_pa"].sum() == pytest.approx(split.log_pa)
    assert "% of what is missing" in split.summary()
