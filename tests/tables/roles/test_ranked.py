"""The best answers of each row side by side."""

import numpy as np
import pandas as pd

from shiftmetrics.tables.evidence import evidence_of
from shiftmetrics.tables.roles.ranked import first_of_ranked, numbered_groups, ranked_scores
from tables.variants import cells


def _evidence(n: int = 20):
    rng = np.random.default_rng(0)
    scores = -np.sort(-rng.dirichlet(np.ones(3), n), axis=1)
    words = np.array(["a", "b", "c"])[np.argsort(rng.random((n, 3)), axis=1)]
    frame = pd.DataFrame()
    for place in range(3):
        frame[f"top{place + 1}_label"] = words[:, place].astype(object)
        frame[f"top{place + 1}_prob"] = scores[:, place]
    return evidence_of(cells(frame), frame)


def test_groups_differ_in_one_number_and_follow_it():
    assert numbered_groups(["k10", "k2", "k1", "other", "x1_a2"]) == [["k1", "k2", "k10"]]


def test_the_best_answer_and_its_scores_are_found():
    table = _evidence()
    labels = ["top3_label", "top1_label", "top2_label"]
    assert first_of_ranked([table], labels) == "top1_label"
    assert ranked_scores([table], list(table.columns)[1::2]) == {
        "top1_prob",
        "top2_prob",
        "top3_prob",
    }


def test_few_rows_and_equal_answers_say_nothing():
    labels = ["top1_label", "top2_label"]
    assert first_of_ranked([_evidence(5)], labels) is None
    assert not ranked_scores([_evidence(5)], ["top1_prob", "top2_prob"])
    table = _evidence()
    table.columns["top2_label"] = table.columns["top1_label"]
    assert first_of_ranked([table], labels) is None
