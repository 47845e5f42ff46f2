"""What a model says of rows: labels, values, scores and log-probabilities, of estimators and of functions."""

from types import SimpleNamespace

import numpy as np
import pytest

from shiftmetrics.models.reading.outputs import (
    asking,
    batch_size,
    class_log_probabilities,
    predicted_labels,
    predicted_values,
    scores_of_classes,
)

ROWS = np.array([[1.0, 4.0], [3.0, 2.0], [5.0, 5.0]])


def test_scores_of_a_function_give_the_first_of_the_highest_classes() -> None:
    np.testing.assert_array_equal(predicted_labels(lambda rows: rows, ROWS), [1, 0, 0])
    column = SimpleNamespace(predict=lambda rows: rows[:, :1])
    np.testing.assert_array_equal(predicted_labels(column, ROWS), [1.0, 3.0, 5.0])
    with pytest.raises(TypeError, match="one label, or scores, for each row"):
        predicted_labels(lambda rows: 1.0, ROWS)


def test_a_margin_is_the_lead_of_the_second_class() -> None:
    margins = SimpleNamespace(decision_function=lambda rows: rows[:, 0] - 2.0)
    expected = [[0.0, -1.0], [0.0, 1.0], [0.0, 3.0]]
    np.testing.assert_array_equal(scores_of_classes(margins, ROWS), expected)
    np.testing.assert_array_equal(scores_of_classes(lambda rows: rows, ROWS), ROWS)
    with pytest.raises(ValueError, match="without decision_function"):
        scores_of_classes(SimpleNamespace(predict=len), ROWS)


def test_values_are_one_a_row() -> None:
    np.testing.assert_array_equal(predicted_values(lambda rows: rows[:, 1:], ROWS), [4, 2, 5])
    with pytest.raises(ValueError, match=r"one value for each row.*shape \(3, 2\)"):
        predicted_values(lambda rows: rows, ROWS)


def test_probabilities_below_the_clip_count_as_it() -> None:
    model = SimpleNamespace(predict_proba=lambda rows: np.array([[0.0, 1.0], [0.25, 0.75]]))
    found = class_log_probabilities(model, ROWS[:2], clip=0.01)
    np.testing.assert_allclose(np.exp(found), [[0.01, 1.0], [0.25, 0.75]])
    with pytest.raises(ValueError, match="without predict_proba"):
        class_log_probabilities(SimpleNamespace(predict=len), ROWS)


def test_wide_rows_come_in_small_batches() -> None:
    sizes = [batch_size(n_features) for n_features in (0, 1, 1024, 2**30)]
    assert sizes == [8192, 8192, 1024, 16]


def test_a_module_is_asked_in_its_own_dtype_and_its_margin_is_cut_at_zero() -> None:
    torch = pytest.importorskip("torch")
    module = torch.nn.Linear(2, 1)
    with torch.no_grad():
        module.weight.copy_(torch.tensor([[1.0, -1.0]]))
        module.bias.zero_()
    np.testing.assert_array_equal(predicted_labels(module, ROWS), [0, 1, 0])
    leads = class_log_probabilities(module, ROWS) @ np.array([-1.0, 1.0])
    np.testing.assert_allclose(leads, [-3.0, 1.0, 0.0], atol=1e-12)


def test_an_error_of_the_model_is_one_that_says_what_to_do() -> None:
    def limited(rows: np.ndarray) -> np.ndarray:
        if (rows > 3.0).any():
            raise RuntimeError("sensor out of range\nmore")
        return rows[:, 0]

    got = r"a function that raises RuntimeError: sensor out of range\. .*Perturbation\(bounds="
    for call in (predicted_labels, predicted_values):
        with pytest.raises(ValueError, match=got) as raised:
            call(limited, ROWS)
        assert isinstance(raised.value.__cause__, RuntimeError)
    with pytest.raises(MemoryError), asking(limited):
        raise MemoryError


def test_the_bounds_that_the_error_names_do_work() -> None:
    from shiftmetrics import Perturbation, model_stability

    X = np.linspace(0.0, 1.0, 40)[:, None]

    class Limited:
        classes_ = np.arange(2)

        def predict(self, rows: np.ndarray) -> np.ndarray:
            if (np.asarray(rows) > 1.0).any():
                raise RuntimeError("sensor out of range")
            return (rows[:, 0] > 0.5).astype(int)

    y = (X[:, 0] > 0.5).astype(int)
    with pytest.raises(ValueError, match="sensor out of range"):
        model_stability(Limited(), X, y, 0.3, perturbation=Perturbation(bounds=None))
    within = Perturbation(bounds={"x0": (0.0, 1.0)})
    assert model_stability(Limited(), X, y, 0.3, perturbation=within).value > 0.0


def test_probabilities_that_a_model_without_classes_predicts_are_read_by_the_highest() -> None:
    matrix = np.array([[0.2, 0.5, 0.3], [0.7, 0.2, 0.1]])
    silent = SimpleNamespace(predict=lambda rows: matrix)
    np.testing.assert_array_equal(predicted_labels(silent, matrix), [1, 0])
    # Several labels of each row are left as they are, to be refused.
    several = SimpleNamespace(predict=lambda rows: matrix, classes_=[0, 1])
    assert predicted_labels(several, matrix).shape == (2, 3)
    counts = SimpleNamespace(predict=lambda rows: 2.0 * matrix)
    assert predicted_labels(counts, matrix).shape == (2, 3)
