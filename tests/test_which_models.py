"""The page "Which models": what it says of each kind is what the routes say of a fitted one."""

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import calibration, ensemble, linear_model, multiclass, neural_network, svm, tree
from sklearn.neighbors import KNeighborsClassifier

from shiftmetrics import Search, model_stability

PAGE = Path(__file__).resolve().parents[1] / "docs" / "which_models.md"
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = np.digitize(X[:, 0] + X[:, 1] ** 2, [0.3, 1.5])
TREE = tree.DecisionTreeClassifier(max_depth=3, random_state=0)
FOREST = ensemble.RandomForestClassifier(4, max_depth=3, random_state=0)


def of(library: str, make: Callable[[Any], Any]) -> Callable[[], Any]:
    """Return what makes a model of a library, and skips where it is not installed."""
    return lambda: make(pytest.importorskip(library))


def with_words() -> tuple[pd.DataFrame, np.ndarray]:
    """Return rows of a number and a category, and classes that follow both."""
    names = np.array(list("stuv"))[RNG.integers(4, size=60)]
    y = ((names == "s") ^ (X[:, 0] > 0.0)).astype(int)
    return pd.DataFrame({"a": X[:, 0], "b": names}), y


def catboost(*, words: bool = True, of_both: bool = False, **options: Any) -> Callable[[], Any]:
    """Return what fits a model of CatBoost on a number, and a category or another number; or on two categories."""

    def fit() -> Any:
        library = pytest.importorskip("catboost")
        rows, y = with_words()
        columns = ["b"]
        if of_both:  # neither says anything alone
            places = RNG.integers(4, size=(2, 60))
            rows = pd.DataFrame(dict(zip("ab", np.array(list("stuv"))[places], strict=True)))
            columns, y = ["a", "b"], places.sum(axis=0) % 2
        if not words:
            rows["b"] = X[:, 1]
            columns = []
        small = {"iterations": 8, "depth": 3, "verbose": 0, "allow_writing_files": False}
        classifier = library.CatBoostClassifier(cat_features=columns, **small, **options)
        return classifier.fit(rows, y), rows, y

    return fit


def torch_network(*, known: bool) -> Callable[[], Any]:
    """Return what makes a network of listed layers, or of another."""

    def make(torch: Any) -> Any:
        torch.manual_seed(0)
        middle = torch.nn.ReLU() if known else torch.nn.Softsign()
        layers = [torch.nn.Linear(2, 8), middle, torch.nn.Linear(8, 3)]
        return torch.nn.Sequential(*layers).double()

    return of("torch", make)


def machine(library: Any) -> Any:
    """Return an explainable boosting machine."""
    glassbox = importlib.import_module("interpret.glassbox")
    return glassbox.ExplainableBoostingClassifier(max_rounds=8, outer_bags=2, n_jobs=1, max_bins=8)


def machine_of_words() -> Any:
    """Return an explainable boosting machine of a number and a category."""
    library = pytest.importorskip("interpret")
    rows, y = with_words()
    return machine(library).fit(rows, y), rows, y


# The beginning of a row, and models of its kind.
EXAMPLES: dict[str, list[Callable[[], Any]]] = {
    "linear classifiers": [linear_model.LogisticRegression, svm.LinearSVC],
    '`SVC(kernel="linear")`': [
        lambda: svm.SVC(kernel="linear"),
        lambda: multiclass.OneVsOneClassifier(svm.LinearSVC()),
    ],
    "decision tree": [lambda: TREE],
    "random forest": [
        lambda: FOREST,
        lambda: ensemble.GradientBoostingClassifier(n_estimators=3),
        of("lightgbm", lambda lightgbm: lightgbm.LGBMClassifier(n_estimators=3, verbose=-1)),
        of("xgboost", lambda xgboost: xgboost.XGBClassifier(n_estimators=3, booster="dart")),
    ],
    "bagging": [
        lambda: ensemble.BaggingClassifier(TREE, 3),
        lambda: ensemble.AdaBoostClassifier(n_estimators=3),
        lambda: ensemble.VotingClassifier([("a", TREE), ("b", TREE)]),
    ],
    "`OneVsRestClassifier` of trees": [
        lambda: multiclass.OneVsRestClassifier(TREE),
        lambda: multiclass.OneVsRestClassifier(FOREST),
    ],
    "single trees with any calibration": [
        lambda: calibration.CalibratedClassifierCV(TREE, method="isotonic"),
        lambda: calibration.CalibratedClassifierCV(FOREST, ensemble=False),
    ],
    "CatBoost with symmetric trees": [catboost(words=False), catboost()],
    "explainable boosting machines": [of("interpret", machine), machine_of_words],
    "dense networks": [
        torch_network(known=True),
        of("torch", lambda _: neural_network.MLPClassifier((6,), max_iter=300, random_state=0)),
    ],
    "other networks": [torch_network(known=False)],
    "TorchScript": [lambda: pytest.importorskip("torch").jit.script(torch_network(known=True)())],
    "ONNX sessions": [KNeighborsClassifier, svm.SVC],
    "CatBoost with statistics": [
        catboost(of_both=True, one_hot_max_size=1, model_size_reg=0, max_ctr_complexity=2),
        catboost(words=False, grow_policy="Lossguide"),
    ],
    "what has `predict_proba`": [lambda: TREE.fit(X, Y).predict_proba],
    "several calibrated sums": [lambda: calibration.CalibratedClassifierCV(svm.LinearSVC())],
    "a linear model with one sigmoid": [
        lambda: calibration.CalibratedClassifierCV(svm.LinearSVC(C=100.0), ensemble=False)
    ],
    "`OneVsRestClassifier` of XGBoost": [
        of("xgboost", lambda xgb: multiclass.OneVsRestClassifier(xgb.XGBClassifier(n_estimators=3)))
    ],
    "hard voting of forests": [
        lambda: ensemble.VotingClassifier([("a", FOREST), ("b", FOREST)]),
        lambda: multiclass.OneVsOneClassifier(TREE),
        lambda: multiclass.OutputCodeClassifier(TREE, random_state=0),
    ],
    "`EasyEnsembleClassifier`": [
        lambda: ensemble.BaggingClassifier(ensemble.HistGradientBoostingClassifier(max_iter=2), 2)
    ],
}


def rows_of_the_page() -> dict[str, tuple[str, str]]:
    """Return the answer and the route of each kind of model, by its name."""
    text = PAGE.read_text(encoding="utf-8").partition("## Steps before the model")[0]
    found = {}
    answer = ""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|") or cells[0] in ("model", "---"):
            continue
        if len(cells) == 2:  # the table of reasons
            found[cells[0]] = ("outputs alone", "blackbox")
            continue
        answer = answer if cells[1] == "the same" else cells[1]
        found[cells[0]] = (answer, cells[2].strip("`"))
    return found


ROWS = rows_of_the_page()


def test_every_row_has_an_example() -> None:
    without = [name for name in ROWS if not any(name.startswith(start) for start in EXAMPLES)]
    assert without == []
    assert all(any(name.startswith(start) for name in ROWS) for start in EXAMPLES)


@pytest.mark.parametrize(
    ("start", "number"), [(key, n) for key, made in EXAMPLES.items() for n in range(len(made))]
)
def test_what_the_page_says_of_a_kind(start: str, number: int) -> None:
    answer, route = next(row for name, row in ROWS.items() if name.startswith(start))
    model = EXAMPLES[start][number]()
    rows: Any = X
    y = Y
    if isinstance(model, tuple):
        model, rows, y = model
    elif hasattr(model, "fit"):
        model = model.fit(X, Y)
    search = Search(progress=False, n_queries=100)
    result = model_stability(model, rows, y, 0.9, resampling=None, computing=search)
    assert result.search.route == route
    words = set(re.findall(r"exact|certified|bound|outputs alone", answer))
    if result.kind == "exact":
        assert "exact" in words or result.search.route == "torch"
    elif result.search.lower_bound is not None:
        assert "certified" in words
    else:
        assert words <= {"bound", "outputs alone"}
