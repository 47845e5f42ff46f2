"""The sentences below a verdict: a constant answer, and every group that was asked for."""

import itertools
import re

import numpy as np
import pytest

from shiftmetrics import diff_models
from shiftmetrics.decisions import DiffResult
from shiftmetrics.decisions.diff.part_words import MOST_GROUPS


def answers(n: int, rates: list[float], seed: int = 0) -> list[np.ndarray]:
    """Return labels with these rates of classes, and the answers of two models with one error in seven."""
    rng = np.random.default_rng(seed)
    names = np.array(["no", "yes", "perhaps"])[: len(rates)]
    labels = rng.choice(names, n, p=rates)
    models = [np.where(rng.random(n) < 0.15, rng.choice(names, n), labels) for _ in range(2)]
    return [labels, *models]


def constant_line(result: DiffResult) -> str | None:
    return next((note for note in result.notes() if note.startswith("Always ")), None)


@pytest.mark.parametrize("costs", [None, {"yes": 10.0}, {"perhaps": 0.0}])
@pytest.mark.parametrize("seed", range(5))
def test_the_best_constant_answer_is_found_by_trying_each(costs, seed: int) -> None:
    labels, old, new = answers(300, [0.7, 0.2, 0.1], seed)
    result = diff_models(old, new, labels=labels, costs=costs)
    price = np.array([(costs or {}).get(label, 1.0) for label in labels])
    names = ["no", "yes", "perhaps"]
    losses = {name: float((price * (labels != name)).mean()) for name in names}
    least = min(losses.values())
    best = {name for name in names if losses[name] == pytest.approx(least, abs=1e-12)}
    constant = result.evidence.constant
    assert constant is not None
    assert set(constant.answers) == best
    assert constant.score == pytest.approx(1.0 - least if costs is None else least, abs=1e-12)
    line = constant_line(result)
    assert line is not None
    assert line.startswith(f"Always {best.pop()} has a")
    said = float(re.findall(r"[\d.]+(?= %)|[\d.]+\d", line)[0])
    assert said == pytest.approx(constant.score * (100.0 if costs is None else 1.0), rel=0.005)
    again = DiffResult.from_json(result.to_json())
    assert again.equals(result)
    assert constant_line(again) == line


def test_it_is_said_which_model_is_no_better_than_a_constant() -> None:
    labels = np.array(["no"] * 76 + ["yes"] * 24)
    good = labels.copy()
    good[:10] = "yes"
    same = np.repeat("no", 100)
    bad = same.copy()
    bad[:5] = "yes"
    models = {"good": good, "same": same, "bad": bad}
    for (old, old_answers), (new, new_answers) in itertools.permutations(models.items(), 2):
        line = constant_line(diff_models(old_answers, new_answers, labels=labels)) or ""
        assert "76.0 %" in line
        beaten = [side for side, name in (("old", old), ("new", new)) if name != "good"]
        verb = "are" if len(beaten) == 2 else "is"
        assert line.endswith(f": {' and '.join(beaten)} {verb} no better.")


def test_classes_that_are_equally_frequent_are_named() -> None:
    labels = np.array(["no", "yes"] * 50)
    new = labels.copy()
    new[0] = "yes"
    result = diff_models(labels, new, labels=labels)
    assert result.evidence.constant is not None
    assert result.evidence.constant.answers == ("no", "yes")
    line = constant_line(result) or ""
    assert "no, yes (equally good)" in line
    assert "50.0 %" in line


def test_nothing_is_said_of_a_constant_where_labels_are_missing() -> None:
    labels, old, new = answers(300, [0.7, 0.3])
    partial = labels.astype(object)
    partial[np.flatnonzero(old == new)[0]] = None
    for known in (None, partial):
        result = diff_models(old, new, labels=known, rng=0)
        assert result.evidence.constant is None
        assert constant_line(result) is None


@pytest.mark.parametrize("n_groups", [3, MOST_GROUPS, MOST_GROUPS + 5])
def test_every_group_that_was_asked_for_is_named_or_counted(n_groups: int) -> None:
    labels, old, new = answers(40 * n_groups, [0.7, 0.3])
    groups = np.repeat([f"g{place:02d}" for place in range(n_groups)], 40)
    # The last groups break most, so that they come first where not all are shown.
    new = np.where(groups == groups[-1], np.where(labels == "no", "yes", "no"), new)
    notes = diff_models(old, new, labels=labels, groups=groups).notes()
    lines = [note for note in notes if re.match(r"group g\d\d: ", note)]
    assert len(lines) == min(n_groups, MOST_GROUPS)
    assert any(line.startswith(f"group {groups[-1]}: worse") for line in lines)
    left = [note for note in notes if "more group" in note]
    if n_groups <= MOST_GROUPS:
        assert not left
        return
    assert left == [note for note in left if f"{n_groups - MOST_GROUPS} more groups" in note] != []
    gains = (new == labels).astype(int) - (old == labels)
    totals = {name: int(gains[groups == name].sum()) for name in np.unique(groups)}
    shown = {line.split()[1].removesuffix(":") for line in lines}
    hidden = set(totals) - shown
    assert max(totals[name] for name in shown) <= min(totals[name] for name in hidden)
