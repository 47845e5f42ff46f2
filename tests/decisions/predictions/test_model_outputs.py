"""What fitted models of other libraries say of a table: one column of probabilities, networks of 32 bits."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

from shiftmetrics.decisions import diff_models
from shiftmetrics.decisions.predictions.model_outputs import (
    first_classes,
    model_outputs,
    prediction_table,
)

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(RNG.normal(size=(50, 2)), columns=["a", "b"])
LABELS = (TABLE["a"] + RNG.normal(size=50) > 0.0).astype(int).to_numpy()


class Additive:
    """A model like pyGAM's: it predicts booleans, and the probability of True alone, and names no classes."""

    def __init__(self, shift: float) -> None:
        self.shift = shift

    def predict_proba(self, X: Any) -> np.ndarray:
        return 1.0 / (1.0 + np.exp(-(np.asarray(X, dtype=np.float64)[:, 0] + self.shift)))

    def predict(self, X: Any) -> np.ndarray:
        return self.predict_proba(X) > 0.5


def test_one_column_of_probabilities_is_that_of_the_second_class() -> None:
    old, new = Additive(0.0), Additive(0.7)
    outputs = model_outputs(new, TABLE)
    np.testing.assert_array_equal(outputs.classes, [0, 1])
    np.testing.assert_array_equal(outputs.predicted, new.predict(TABLE).astype(int))
    assert outputs.probabilities is not None
    np.testing.assert_array_equal(outputs.probabilities[:, 1], new.predict_proba(TABLE))
    np.testing.assert_allclose(outputs.probabilities.sum(axis=1), 1.0, rtol=1e-15)
    tables = [prediction_table(model, TABLE, ()) for model in (old, new)]
    found = diff_models(*tables, labels=LABELS)
    right = [model.predict(TABLE) == LABELS for model in (old, new)]
    assert found.labelled is not None
    assert found.labelled.fixed == int((right[1] & ~right[0]).sum()) > 0
    assert found.labelled.broken == int((right[0] & ~right[1]).sum()) > 0


class Fitted:
    """A result of statsmodels: it predicts the probability of 1."""

    def predict(self, X: Any) -> np.ndarray:
        return 1.0 / (1.0 + np.exp(-np.asarray(X, dtype=np.float64)[:, 0] - 0.3))


def test_predicted_fractions_beside_probabilities_of_0_and_1_are_those_of_1() -> None:
    other = LogisticRegression().fit(TABLE, LABELS)
    classes = first_classes([Fitted(), other])
    assert classes == ("0", "1")
    old = prediction_table(other, TABLE, ())
    new = prediction_table(Fitted(), TABLE, (), other_classes=classes)
    right = [other.predict(TABLE) == LABELS, (Fitted().predict(TABLE) >= 0.5) == LABELS]
    found = diff_models(old, new, labels=LABELS)
    assert found.value == pytest.approx(right[1].mean() - right[0].mean())
    assert first_classes([Fitted(), Fitted()]) is None
    # labels are left as they are
    labels = prediction_table(LinearSVC().fit(TABLE, LABELS), TABLE, (), other_classes=classes)
    assert list(labels.columns) == ["prediction"]


def test_predicted_fractions_beside_probabilities_of_named_classes_are_refused() -> None:
    line = LinearRegression().fit(TABLE, LABELS)
    for model, classes in (
        (Fitted(), ("no", "yes")),
        (Fitted(), ("0", "1", "2")),
        (line, ("0", "1")),
    ):
        with pytest.raises(ValueError, match="with a column for each class"):
            prediction_table(model, TABLE, (), other_classes=classes)


def test_a_model_may_predict_one_of_its_classes_alone() -> None:
    np.testing.assert_array_equal(model_outputs(Additive(99.0), TABLE).classes, [0, 1])


def narrow(dtype: str) -> Any:
    """Return a classifier whose network takes one dtype, as models of skorch do."""
    torch = pytest.importorskip("torch")

    class Narrow:
        classes_ = np.arange(2)

        def __init__(self) -> None:
            torch.manual_seed(0)
            self.module_ = torch.nn.Linear(2, 2).to(getattr(torch, dtype))

        def predict_proba(self, X: Any) -> np.ndarray:
            with torch.no_grad():
                return self.module_(torch.as_tensor(np.array(X))).softmax(dim=1).numpy()

        def predict(self, X: Any) -> np.ndarray:
            return self.predict_proba(X).argmax(axis=1)

    return Narrow()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_network_gets_the_rows_of_a_file_in_its_own_width(dtype: str) -> None:
    model = narrow(dtype)
    outputs = model_outputs(model, TABLE)
    expected = model.predict_proba(TABLE.to_numpy(dtype=dtype))
    np.testing.assert_array_equal(outputs.probabilities, expected)
    np.testing.assert_array_equal(outputs.predicted, expected.argmax(axis=1))


def test_rows_that_a_network_does_not_take_are_refused_by_what_it_said_first() -> None:
    words = TABLE.assign(b="north")
    with pytest.raises(ValueError, match="takes these columns"):
        model_outputs(narrow("float32"), words)
    with pytest.raises(ValueError, match="takes these columns.*shapes"):
        model_outputs(narrow("float64"), TABLE.assign(c=1.0))
