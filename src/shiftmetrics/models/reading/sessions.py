"""Models that are asked for outputs alone: networks without gradients of use, and sessions of an inference engine."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, to_float64, to_numpy
from shiftmetrics._core.exceptions import ArgumentValueError, Setting, Wording
from shiftmetrics.models.reading.estimators import ANSWERS, is_module
from shiftmetrics.models.reading.outputs import are_probabilities, asking, batch_size

_COMPILED = ("OptimizedModule", "GraphModule")
_SCORES = ("logits", "scores", "output")
_NUMBERS = {"tensor(float)": "float32", "tensor(double)": "float64", "tensor(int64)": "int64"}
"""What a session of ONNX calls the dtypes of its input."""


def asked_for_outputs(model: Any, X: Any, loss: str) -> Any:
    """Return a network or session that is asked for outputs alone as a model with ``predict``; others as they are.

    These are TorchScript, compiled and exported networks, those in half precision, those that take integers or put
    out more than one tensor, and sessions of ONNX Runtime.

    Parameters
    ----------
    model : object
        A model.
    X : array_like or DataFrame of shape (n_samples, ...)
        Its rows.
    loss : str
        The loss: "squared" for values.
    """
    if hasattr(model, "run") and hasattr(model, "get_inputs"):
        return SessionModel(model, loss)
    if type(model).__name__ == "ExportedProgram" and hasattr(model, "module"):
        model = model.module()  # which alone can be called
    if not is_module(model):
        silent = not (hasattr(model, "predict") or callable(model))
        if silent and any(hasattr(model, name) for name in ANSWERS):
            return ScoresAlone(model, X)
        return model
    if _is_plain(model, X):
        return model
    some = np.asarray(X)[:2]
    if loss == "squared":
        return NetworkValues(model, some)
    return NetworkScores(model, some)


def _is_plain(module: Any, X: Any) -> bool:
    """Return True if a module maps floating rows to one tensor, with gradients, in 32 or 64 bits."""
    import torch

    from shiftmetrics.attacks.model import evaluation_mode

    if isinstance(module, torch.jit.ScriptModule) or type(module).__name__ in _COMPILED:
        return False
    like = next(module.parameters(), None)
    if like is not None and like.is_floating_point() and like.dtype.itemsize < 4:
        return False
    try:
        rows = torch.as_tensor(np.array(np.asarray(X)[:2], dtype=np.float64))
        if like is None:
            rows = rows.to(torch.get_default_dtype())
        else:
            rows = rows.to(like)
        # Quantised layers and those that take an argmax put out numbers without a gradient.
        with evaluation_mode(module), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            output = module(rows.requires_grad_())
            if not isinstance(output, torch.Tensor) or not output.requires_grad:
                return False
            (gradient,) = torch.autograd.grad(output.sum(), rows, allow_unused=True)
        return gradient is not None
    except (RuntimeError, TypeError, ValueError, AttributeError, IndexError):
        # Whether it takes rows in another form, or none at all, the other way says.
        return np.asarray(X).dtype.kind not in "iuf"


class NetworkValues:
    """A network that is asked for a value of each row."""

    def __init__(self, module: Any, some_rows: npt.NDArray[Any]) -> None:
        import torch

        self.module = module
        self.dtype = torch.get_default_dtype()
        self.device = torch.device("cpu")
        for tensor in (*module.parameters(), *module.buffers()):
            if tensor.is_floating_point():
                self.dtype = tensor.dtype
                self.device = tensor.device
                break
        # Integers where it takes no numbers with fractions, as for embeddings.
        try:
            self.outputs(some_rows)
        except (RuntimeError, TypeError, ValueError, IndexError) as error:
            self.dtype = torch.int64
            try:
                self.outputs(some_rows)
            except (RuntimeError, TypeError, ValueError, IndexError):
                self._refuse(error)

    def _refuse(self, error: Exception) -> None:
        first_line = str(error).strip().partition("\n")[0][:100]
        got = f"a {type(self.module).__name__} that raises {type(error).__name__}: {first_line}"
        remedy = "Pass a function that makes tensors of the rows of X, and returns its scores."
        raise ArgumentValueError(
            "model", "a network that takes the rows of X", got, remedy
        ) from error

    def outputs(self, X: Any) -> FloatArray:
        """Return the outputs of the network, a batch at a time."""
        import torch

        rows = torch.as_tensor(np.array(X, dtype=np.float64)).to(self.device, self.dtype)
        size = batch_size(rows[:1].numel())
        parts = []
        with _predicting(self.module), torch.no_grad():
            for start in range(0, max(len(rows), 1), size):
                output = _tensor_of(self.module(rows[start : start + size]))
                parts.append(output.detach().cpu().double().numpy())
        return np.concatenate(parts)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the value of each row."""
        return self.outputs(X)


class NetworkScores(NetworkValues):
    """A network that is asked for scores of the classes 0, 1, ...; one column is the margin of class 1."""

    def __init__(self, module: Any, some_rows: npt.NDArray[Any]) -> None:
        super().__init__(module, some_rows)
        outputs = self.outputs(some_rows)
        self.are_probabilities = are_probabilities(outputs)
        n_outputs = 1
        if outputs.ndim > 1:
            n_outputs = outputs.shape[1]
        self.classes_ = np.arange(max(2, n_outputs))

    def decision_function(self, X: Any) -> FloatArray:
        """Return scores of shape (n, n_classes), or margins of shape (n,)."""
        outputs = self.outputs(X)
        if self.are_probabilities:
            if outputs.ndim == 1 or outputs.shape[1] == 1:
                second = outputs.reshape(len(outputs))
                outputs = np.stack([1.0 - second, second], axis=1)
            outputs = np.log(np.maximum(outputs, np.finfo(np.float64).tiny))
        if outputs.ndim == 2 and outputs.shape[1] == 1:
            return outputs[:, 0]
        return outputs

    def predict_proba(self, X: Any) -> FloatArray:
        """Return probabilities of shape (n, n_classes)."""
        from scipy.special import softmax

        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.stack([np.zeros_like(scores), scores], axis=1)
        return np.asarray(softmax(scores, axis=1))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of the highest score."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.asarray(scores > 0.0).astype(np.int64)
        return np.asarray(scores.argmax(axis=1))


class _predicting:  # noqa: N801 - a context, used like a function
    """Switch to evaluation mode and back, where the module can."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def __enter__(self) -> None:
        # Each part has a mode of its own: frozen statistics stay in evaluation mode while others train.
        # Scripts that were frozen have none.
        parts = [part for part in self.module.modules() if hasattr(part, "training")]
        self.modes = [(part, part.training) for part in parts]
        if any(mode for _, mode in self.modes):
            try:
                self.module.eval()
            except (
                NotImplementedError
            ):  # exported networks have the mode that they were exported in
                self.modes = []

    def __exit__(self, *error: object) -> None:
        for part, mode in self.modes:
            if part.training != mode:
                part.training = mode


def _tensor_of(output: Any) -> Any:
    """Return the scores among the outputs of a network: the first of several, or those that are called so."""
    if isinstance(output, Mapping):
        for name in _SCORES:
            if name in output:
                return output[name]
        if len(output) == 1:
            return next(iter(output.values()))
        got = f"outputs called {', '.join(map(str, output))}"
        remedy = "Pass a function that returns the scores alone."
        raise ArgumentValueError("model", f"a network with one of {_SCORES}", got, remedy)
    if hasattr(output, "logits"):
        return output.logits
    if isinstance(output, tuple | list):
        return _tensor_of(output[0])
    return output


class ScoresAlone:
    """A classifier without ``predict``: the class of its highest probability or score counts."""

    def __init__(self, model: Any, X: Any) -> None:
        self.model = model
        self.n_classes = 2
        output = self._answer(X)
        if output.ndim == 2:
            self.n_classes = max(2, output.shape[1])

    def __getattr__(self, name: str) -> Any:
        # What else the model has, such as the number of its columns; not what stands here.
        if name in ("model", "predict") or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.model, name)

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """Its labels; 0, 1, ... where it names none."""
        return np.asarray(getattr(self.model, "classes_", np.arange(self.n_classes)))

    def _answer(self, X: Any) -> FloatArray:
        name = next(name for name in ANSWERS if hasattr(self.model, name))
        with asking(self.model):
            return to_float64(getattr(self.model, name)(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the label of each row."""
        output = self._answer(X)
        if output.ndim == 2 and output.shape[1] > 1:
            return np.asarray(self.classes_[output.argmax(axis=1)])
        # One column is a probability of the second class, or its lead.
        cut = 0.0
        if hasattr(self.model, "predict_proba"):
            cut = 0.5
        is_second = output.reshape(len(output)) > cut
        return np.asarray(self.classes_[is_second.astype(np.int64)])


class SessionModel:
    """A session of ONNX Runtime with one input: labels or values first, then probabilities where there are some."""

    def __init__(self, session: Any, loss: str) -> None:
        self.session = session
        inputs = session.get_inputs()
        if len(inputs) != 1 or inputs[0].type not in _NUMBERS:
            got = ", ".join(f"{one.name}: {one.type}" for one in inputs)
            remedy = "Pass a function of X that calls session.run and returns labels or scores."
            raise ArgumentValueError("model", "a session with one input of numbers", got, remedy)
        self.name = inputs[0].name
        self.dtype = _NUMBERS[inputs[0].type]
        self.loss = loss

    def outputs(self, X: Any) -> list[Any]:
        """Return all outputs."""
        rows = np.asarray(X, dtype=np.float64).astype(self.dtype)
        return list(self.session.run(None, {self.name: rows}))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return labels or values; the class of the highest score where it puts out scores alone."""
        first = np.asarray(to_numpy(self.outputs(X)[0]))
        if self.loss != "squared" and first.ndim == 2 and first.shape[1] > 1:
            return np.asarray(first.argmax(axis=1))
        return first.reshape(len(first))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the second output, a matrix or a dict for each row, as probabilities."""
        found = self.outputs(X)
        if len(found) < 2:
            expected = "one that the model has"
            got = "'log_loss', and a session without probabilities"
            remedy = Wording("Use ", Setting("loss", "zero_one"), ".")
            raise ArgumentValueError("loss", expected, got, remedy)
        second = found[1]
        if isinstance(second, list):  # the zipmap of skl2onnx
            second = [list(row.values()) for row in second]
        return to_float64(np.asarray(second))
