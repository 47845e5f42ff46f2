"""Stability of a model in the report: what moves and how, features, curves; also where little is known."""

import html

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from shiftmetrics.models import Perturbation, Search, feature_stability, model_stability
from shiftmetrics.stability import (
    HingeLoss,
    ZeroOneLoss,
    stability_criterion,
    stability_curve,
    trade_off,
    worst_case_risk,
)
from shiftmetrics.views import Context, Rows
from shiftmetrics.views.report import render_report

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(60, 15, 90), "pulse": rng.normal(80, 10, 90)})
    return X, (X["age"] + rng.normal(0, 10, 90) > 60).to_numpy().astype(int)


@pytest.fixture(scope="module")
def result(people):
    return model_stability(LogisticRegression().fit(*people), *people, 0.6, theta1=1.0, theta2=0.25)


def test_the_page_shows_the_sample_without_being_given_its_rows(result):
    page = render_report(result)
    for part in (
        "The most sensitive sample", "What changes, by column", "The rows that break first",
        "How far the worst case perturbs samples",
    ):  # fmt: skip
        assert part in page
    assert len(page) < 1_000_000


@pytest.mark.slow
def test_results_without_rows_or_moves_have_less_to_say(people):
    def texts(result):
        page = render_report(result)
        parts = (
            "The most sensitive sample",
            "What changes, by column",
            "The rows that break first.",
        )
        return [part in page for part in parts]

    assert texts(stability_criterion(ZeroOneLoss([0.0, 0.5, 1.0]), 0.5)) == [False, False, False]
    model = LogisticRegression().fit(*people)
    assert texts(model_stability(model, *people, 0.4, theta1=np.inf)) == [True, False, False]
    alone = people[0][["age"]]
    narrow = model_stability(LogisticRegression().fit(alone, people[1]), alone, people[1], 0.4)
    assert not texts(narrow)[0]  # one column makes no picture
    assert texts(model_stability(model, *people, 0.4).without_rows()) == [
        False,
        False,
        False,
    ]


def test_the_card_holds_the_reference_values(result):
    page = html.unescape(render_report(result)).replace("\xa0", " ")
    assert len(result.reference_values()) == 2
    for sentence in result.reference_values():
        assert sentence in page


@pytest.mark.slow
def test_features_and_groups(people):
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(*people)
    result = feature_stability(
        tree,
        *people,
        0.4,
        perturbation=Perturbation(by=np.where(people[0]["age"] > 60, EVIL, "young")),
    )
    page = render_report({"tree": result, "moves": model_stability(tree, *people, 0.4)})
    assert "Values of one feature permuted" in page
    assert "Groups, the least stable first." in page
    assert EVIL not in page
    without = render_report(feature_stability(tree, *people, 0.4))
    assert "Stability by subgroup" not in without
    for threshold in (0.01, 1.0):
        assert "Feature stability" in render_report(feature_stability(tree, *people, threshold))


def test_curves_and_surfaces_stand_in_the_stability_section(result):
    curve = stability_curve(result.loss, [0.3, 0.4])
    surface = trade_off(result.loss, 0.4, cheapness=[0, 0.25, 0.5, 0.75, 1])
    page = render_report([result, curve, surface])
    assert page.count("How little does it take to break the model?") == 1
    assert "at prices 0.4 and 0.4" in page
    assert "at risk 0.3" in page
    assert "What each level of risk would cost" in page
    assert "Corruption against reweighting" in page
    unattainable = stability_curve(ZeroOneLoss([0.0, np.inf]), [0.6, 0.9], theta2=np.inf)
    assert "unattainable" in render_report(unattainable)


def test_categories_and_weights_count(people):
    X, y = people
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.5, 2.0, 90)
    result = model_stability(
        LogisticRegression().fit(X, y), X, y, 0.45, sample_weight=weight, theta2=0.05
    )
    near = np.abs(X["age"] - 60) < 8
    facts = X.assign(ward=np.where(near, "near", "far"), name=[f"person {i}" for i in range(90)])
    page = render_report(
        result,
        context=Context(rows={"Stability": Rows(table=facts, sample_weight=weight, labels=y)}),
    )
    share = 100 * weight[near].sum() / weight.sum()  # of two significant digits
    assert f'ward = near</td><td class="n">{share:.0f}\N{NO-BREAK SPACE}%' in page
    assert "name = person" not in page  # a level of one row says nothing


def test_the_rounds_of_a_search_are_drawn(people):
    class Curved:
        """A model that can only say how likely each class is."""

        classes_ = np.array([0, 1])

        def predict_proba(self, rows):
            score = (np.asarray(rows)[:, 0] - 60) / 15
            p = 1 / (1 + np.exp(-score - 0.1 * score**3))
            return np.column_stack([1 - p, p])

        def predict(self, rows):
            return self.predict_proba(rows).argmax(axis=1)

    rows = people[0].to_numpy()
    result = model_stability(
        Curved(), rows, people[1], 0.9, loss="log_loss", computing=Search(n_queries=60, rng=0)
    )
    assert result.search.trace is not None
    page = render_report(result)
    assert "How the search comes to the threshold" in page
    assert result.kind == "upper_bound"


def test_the_worst_case_of_a_loss_without_limit_is_shown():
    loss = HingeLoss(np.arange(10.0) / 10.0, 1.0)
    found = worst_case_risk(loss, np.inf, theta1=1.0, theta2=1.0)
    page = render_report({"worst": found})
    assert "Any risk is reached at no cost" in page
