"""Predictions of real models: each verdict, bound and sentence recomputed by counting rows."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy.stats import binomtest

from shiftmetrics import diff_models
from shiftmetrics.tables.options import RoleOptions

pytestmark = pytest.mark.realdata

Scores = npt.NDArray[Any]
Named = tuple[dict[str, Scores], Scores]


@pytest.fixture(scope="session")
def networks(data_folder: Path) -> Named:
    """Return the scores of 28 networks on the CIFAR-10 test set, and the labels."""
    found: dict[str, Scores] = {}
    for name, key in (("logits", "logits"), ("log_probs", "log_probs")):
        with np.load(data_folder / "cifar10_logit_zoo" / f"{name}.npz") as stored:
            found |= dict(zip(stored["model_names"].tolist(), stored[key], strict=True))
            labels = stored["labels"]
    return found, labels


PAIRS = [
    ("resnet20", "resnet56"),
    ("vgg16_bn", "vgg19_bn"),
    ("repvgg_a2", "repvgg_a0"),
    ("kerrigan_preresnet-110", "kerrigan_densenet-bc-L190-k40"),
    ("netcal_lenet-5", "resnet18_78acc"),
]


@pytest.mark.parametrize("pair", PAIRS, ids=" to ".join)
def test_headlines_are_what_counting_says(networks: Named, pair: tuple[str, str]) -> None:
    scores, labels = networks
    old, new = (scores[name] for name in pair)
    answers, others = old.argmax(axis=1), new.argmax(axis=1)
    changed = int((answers != others).sum())
    fixed = int(((answers != labels) & (others == labels)).sum())
    broken = int(((answers == labels) & (others != labels)).sum())
    # Without labels.
    blind = diff_models(old, new, rng=0)
    said = re.match(
        r"CANNOT TELL  ([\d,]+) of 10,000 .*changes by at most ([\d.]+) points",
        blind.headline(),
    )
    assert said is not None
    assert int(said[1].replace(",", "")) == changed
    assert float(said[2]) == pytest.approx(changed / 100.0, rel=0.06)
    assert abs(fixed - broken) <= changed
    # With all of them.
    for allow in (None, 0.005, 0.02):
        result = diff_models(old, new, labels=labels, allow=allow)
        assert result.value == pytest.approx((fixed - broken) / 10_000, abs=1e-12)
        assert result.labelled is not None
        p_value = binomtest(fixed, fixed + broken, 0.5).pvalue
        assert result.labelled.p_value == pytest.approx(p_value, rel=1e-6)
        assert f"{fixed:,} errors fixed, {broken:,} new" in result.headline()
        assert result.interval is not None
        if allow is None:
            decided = "BETTER" if fixed > broken else "WORSE"
            assert result.verdict == (decided if p_value < 0.05 else "CANNOT TELL")
        elif result.verdict == "SAFE":
            assert (fixed - broken) / 10_000 > -allow
        elif result.verdict == "WORSE":
            assert (fixed - broken) / 10_000 < -allow


@pytest.mark.parametrize("bits", [4, 8])
def test_a_quantised_network_changes_where_its_first_largest_score_does(
    networks: Named, bits: int
) -> None:
    scores, labels = networks
    exact = scores["resnet56"]
    rounded = np.round(exact / (np.abs(exact).max() / 2 ** (bits - 1)))
    result = diff_models(exact, rounded, labels=labels)
    changed = (exact.argmax(axis=1) != rounded.argmax(axis=1)).sum()
    tied = ((rounded == rounded.max(axis=1, keepdims=True)).sum(axis=1) > 1).sum()
    assert result.changes.n_changed == changed > 0
    assert result.changes.n_tied_new == tied > 0
    truth = (rounded.argmax(axis=1) == labels).mean() - (exact.argmax(axis=1) == labels).mean()
    assert result.value == pytest.approx(truth, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS[:3], ids=" to ".join)
def test_whoever_labels_a_plan_is_told_the_truth(networks: Named, pair: tuple[str, str]) -> None:
    scores, labels = networks
    old, new = (scores[name] for name in pair)
    truth = (new.argmax(axis=1) == labels).mean() - (old.argmax(axis=1) == labels).mean()
    held = {"exact": 0, "anytime": 0}
    for seed in range(15):
        for plan in (40, "anytime"):
            table = diff_models(old, new, plan=plan, rng=seed).to_frame()
            rows = table["id"].to_numpy()[:40]
            table["label"] = [*labels[rows], *[None] * (len(table) - 40)]
            interval = diff_models(old, new, labels=table).interval
            assert interval is not None
            held[interval.method] += interval.low <= truth <= interval.high
    assert min(held.values()) >= 13


def test_people_are_compared_by_their_answers(data_folder: Path) -> None:
    table = pd.read_parquet(data_folder / "model_vs_human_decisions" / "decisions.parquet")
    table = table[(table["experiment"] == "sketch") & (table["kind"] == "model")].astype(str)
    first, second = sorted(table["observer"].unique())[:2]
    sides = []
    for observer in (first, second):
        side = table[table["observer"] == observer].drop_duplicates("image")
        sides.append(
            pd.DataFrame(
                {"image": side["image"], "label": side["category"], "response": side["response"]}
            )
        )
    result = diff_models(*sides, ids=RoleOptions(inner=True))
    both = sides[0].merge(sides[1], on="image", suffixes=("_old", "_new"))
    old_right = both["response_old"] == both["label_old"]
    new_right = both["response_new"] == both["label_old"]
    assert result.n_samples == len(both)
    assert result.value == pytest.approx(new_right.mean() - old_right.mean())
    assert result.changes.n_changed == (both["response_old"] != both["response_new"]).sum()
