"""Networks and sessions that are asked for outputs alone, whatever form they have."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from shiftmetrics import Search, model_stability
from shiftmetrics.models.reading.sessions import SessionModel, asked_for_outputs

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
FEW = Search(n_queries=60, progress=False)


def value(model: Any, rows: Any, y: Any, **options: Any) -> float:
    found = model_stability(model, rows, y, 0.4, resampling=None, computing=FEW, **options)
    assert found.kind in ("upper_bound", "exact")
    return float(found.value)


@pytest.fixture(scope="module")
def network() -> Any:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    layers = torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)
    return torch.nn.Sequential(*layers).eval()


@pytest.fixture(scope="module")
def labels(network: Any) -> np.ndarray:
    import torch

    return network(torch.tensor(X, dtype=torch.float32)).argmax(1).numpy()


class Outputs:
    """Make modules that put a network's scores into another form."""

    @staticmethod
    def of(network: Any, form: Any) -> Any:
        import torch

        class Wrapped(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.inner = network

            def forward(self, rows: Any) -> Any:
                return form(self.inner(rows))

        return Wrapped().eval()


FORMS = {
    "tuple": lambda scores: (scores, scores * 0.0),
    "dict": lambda scores: {"hidden": scores * 0.0, "logits": scores},
    "object": lambda scores: SimpleNamespace(logits=scores),
}


@pytest.mark.parametrize("form", FORMS)
def test_scores_among_several_outputs(network: Any, labels: np.ndarray, form: str) -> None:
    model = Outputs.of(network, FORMS[form])
    assert value(model, X, labels) == pytest.approx(value(network, X, labels), rel=0.5)


def test_outputs_of_unknown_names_are_refused(network: Any, labels: np.ndarray) -> None:
    model = Outputs.of(network, lambda scores: {"first": scores, "second": scores})
    with pytest.raises(ValueError, match="function"):
        value(model, X, labels)


@pytest.mark.parametrize("how", ["script", "frozen", "trace", "half", "bfloat16"])
def test_networks_in_other_forms(network: Any, labels: np.ndarray, how: str) -> None:
    import copy

    import torch

    if how == "script":
        model = torch.jit.script(network)
    elif how == "frozen":  # which knows no mode
        model = torch.jit.freeze(torch.jit.script(network.eval()))
    elif how == "trace":
        model = torch.jit.trace(network, torch.zeros(2, 3))
    else:
        model = copy.deepcopy(network)
        model.to(torch.float16 if how == "half" else torch.bfloat16)
    asked = asked_for_outputs(model, X, "zero_one")
    assert (asked.predict(X) == labels).mean() > 0.9
    own = asked.predict(X)
    assert 0.0 < value(model, X, own) < np.inf
    assert 0.0 <= value(model, X, own, loss="log_loss") < np.inf


def test_a_program_is_asked_through_its_module(network: Any, labels: np.ndarray) -> None:
    import torch

    shapes = ({0: torch.export.Dim("n")},)
    program = torch.export.export(network, (torch.zeros(7, 3),), dynamic_shapes=shapes)
    assert value(program, X, labels) == value(program.module(), X, labels)


@pytest.mark.parametrize("cut", ["detached", "argmax"])
def test_outputs_without_a_gradient_are_searched(
    network: Any, labels: np.ndarray, cut: str
) -> None:
    import torch

    def form(scores: Any) -> Any:
        if cut == "detached":
            return scores.detach()
        return torch.nn.functional.one_hot(scores.argmax(dim=1), 2).float() * 3.0

    model = Outputs.of(network, form)
    found = model_stability(model, X, labels, 0.4, resampling=None, computing=FEW)
    assert (found.kind, found.search.route) == ("upper_bound", "blackbox")
    moved = torch.tensor(found.changed_rows(), dtype=torch.float32)
    changed = found.plan.distances[: len(X)] > 0.0
    assert (network(moved).argmax(1).numpy() != labels)[changed].all()


def test_a_network_of_integers() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(1)

    class Embedded(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(5, 2)

        def forward(self, rows: Any) -> Any:
            return self.table(rows).sum(dim=1)

    rows = RNG.integers(0, 5, size=(60, 3))
    model = Embedded()
    own = asked_for_outputs(model, rows, "zero_one").predict(rows)
    assert 0.0 <= value(model, rows, own) < np.inf


def test_a_network_that_takes_other_rows_names_a_function() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match="function"):
        value(torch.nn.Linear(7, 2), X, np.zeros(60, dtype=int))


class Session:
    """Behaves as `onnxruntime.InferenceSession` 1.32 does: named inputs with a type in words, a list of outputs."""

    def __init__(self, kind: str = "tensor(float)") -> None:
        self.kind = kind

    def get_inputs(self) -> list[Any]:
        return [SimpleNamespace(name="input", type=self.kind)]

    def run(self, names: None, inputs: dict[str, Any]) -> list[Any]:
        rows = inputs["input"]
        if rows.dtype != np.float32:
            raise RuntimeError("Unexpected input data type.")
        second = 1.0 / (1.0 + np.exp(-rows[:, 0]))
        zipmap = [{0: 1.0 - p, 1: p} for p in second.tolist()]
        return [(second > 0.5).astype(np.int64), zipmap]


def test_a_session_by_its_labels_and_probabilities() -> None:
    y = (X[:, 0] > 0.0).astype(int)
    assert 0.0 < value(Session(), X, y) < np.inf
    assert SessionModel(Session(), "log_loss").predict_proba(X).shape == (60, 2)
    assert 0.0 < value(Session(), X, y, loss="log_loss") < np.inf


def test_a_session_of_strings_names_a_function() -> None:
    with pytest.raises(ValueError, match="function"):
        value(Session("tensor(string)"), X, np.zeros(60, dtype=int))


class Probabilities:
    """A classifier that has probabilities alone, and no tags."""

    def __init__(self, labels: Any = None) -> None:
        if labels is not None:
            self.classes_ = np.asarray(labels)

    def predict_proba(self, rows: Any) -> np.ndarray:
        second = 1.0 / (1.0 + np.exp(-np.asarray(rows)[:, 0]))
        return np.stack([1.0 - second, second], axis=1)


class Leads(Probabilities):
    """A classifier that has one score alone, and raises whatever is asked of its tags."""

    predict_proba = None

    def __getattribute__(self, name: str) -> Any:
        if name == "predict_proba":
            raise AttributeError(name)
        return super().__getattribute__(name)

    def __sklearn_tags__(self) -> Any:
        raise NotImplementedError

    def fit(self) -> None:
        """Have one, as estimators do."""

    def get_params(self) -> dict[str, Any]:
        return {}

    def decision_function(self, rows: Any) -> np.ndarray:
        return np.asarray(rows)[:, 0]


@pytest.mark.parametrize("kind", [Probabilities, Leads])
def test_classifiers_without_predict(kind: Any) -> None:
    y = (X[:, 0] > 0.0).astype(int)
    expected = value(lambda rows: (rows[:, 0] > 0.0).astype(int), X, y)
    assert value(kind(), X, y) == pytest.approx(expected, rel=1e-6)
    words = np.array(["no", "yes"])
    assert value(kind(words), X, words[y]) == pytest.approx(expected, rel=1e-6)
