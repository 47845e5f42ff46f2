"""Networks, for `model_table.py`: plain, wrapped, compiled, and with forwards of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from _model_list import Case, has


def cases() -> Iterator[Case]:
    """Yield networks, where torch is installed."""
    if has("torch"):
        yield from _plain()
        yield from _forms()
    if has("torch") and has("skorch"):
        yield from _skorch()


def _trained(make: Callable[[], Any], n_outputs: int = 2) -> Callable[[Any, Any], Any]:
    """Return what trains a network by a few steps."""

    def fit(X: Any, y: Any) -> Any:
        import torch
        from torch import nn

        torch.manual_seed(0)
        network = make()
        rows = torch.as_tensor(np.asarray(X, dtype=np.float32))
        labels = torch.as_tensor(np.asarray(y))
        if not any(True for _ in network.parameters()):
            return network.eval()
        optimiser = torch.optim.Adam(network.parameters(), 0.05)
        for _ in range(40):
            optimiser.zero_grad()
            output = network(rows)
            if isinstance(output, tuple):
                output = output[0]
            elif isinstance(output, dict):
                output = output["logits"]
            if n_outputs == 1:
                loss = nn.functional.binary_cross_entropy_with_logits(
                    output.ravel(), labels.float()
                )
            else:
                loss = nn.functional.cross_entropy(output, labels)
            loss.backward()
            optimiser.step()
        return network.eval()

    return fit


def _layers(activation: str = "ReLU", n_outputs: int = 2, *more: Any) -> Any:
    from torch import nn

    return nn.Sequential(nn.Linear(2, 8), getattr(nn, activation)(), *more, nn.Linear(8, n_outputs))


def _plain() -> Iterator[Case]:
    from torch import nn

    for activation in (
        "ReLU",
        "Tanh",
        "Sigmoid",
        "LeakyReLU",
        "ELU",
        "GELU",
        "SiLU",
        "Softplus",
        "Hardtanh",
        "ReLU6",
        "PReLU",
    ):
        yield Case(f"network {activation}", "array", _trained(lambda a=activation: _layers(a)))
    yield Case("network three", "three", _trained(lambda: _layers("ReLU", 3), 3))
    yield Case("network margin", "array", _trained(lambda: _layers("ReLU", 1), 1))
    yield Case("network float32 rows", "array32", _trained(_layers))
    yield Case("network frame", "numbers", _trained(_layers))
    yield Case("network norm", "array", _trained(lambda: _layers("ReLU", 2, nn.BatchNorm1d(8))))
    yield Case("network layer norm", "array", _trained(lambda: _layers("ReLU", 2, nn.LayerNorm(8))))
    yield Case("network dropout", "array", _trained(lambda: _layers("ReLU", 2, nn.Dropout(0.3))))
    yield Case("network linear", "array", _trained(lambda: nn.Linear(2, 2)))


def _forms() -> Iterator[Case]:
    import torch
    from torch import nn

    class Own(nn.Module):
        """A forward of its own, with a band in which classes change places."""

        def __init__(self, form: str) -> None:
            super().__init__()
            self.layers = _layers()
            self.form = form

        def forward(self, x: Any) -> Any:
            out = self.layers(x)
            if self.form == "band":
                return torch.where((x[:, :1] - 0.5).abs() < 0.05, out.flip(1), out)
            if self.form == "tuple":
                return out, x
            if self.form == "dict":
                return {"logits": out, "hidden": x}
            return out

    class Gated(nn.Sequential):
        def forward(self, x: Any) -> Any:
            out = super().forward(x)
            return torch.where((x[:, :1] - 0.5).abs() < 0.05, out.flip(1), out)

    class OwnLinear(nn.Linear):
        def forward(self, x: Any) -> Any:
            out = super().forward(x)
            return torch.where((x[:, :1] - 0.5).abs() < 0.05, out.flip(1), out)

    class Embedded(nn.Module):
        """Takes integers."""

        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(64, 4)
            self.last = nn.Linear(8, 2)

        def forward(self, x: Any) -> Any:
            return self.last(self.table(x.clamp(0, 63)).flatten(1))

    for form in ("plain", "band", "tuple", "dict"):
        yield Case(f"network own {form}", "array", _trained(lambda form=form: Own(form)))
    yield Case("network gated", "array", _trained(lambda: Gated(*_layers())))
    yield Case(
        "network own linear",
        "array",
        _trained(
            lambda: nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2), OwnLinear(2, 2))
        ),
    )

    def hooked(X: Any, y: Any) -> Any:
        network = _trained(_layers)(X, y)
        network[0].register_forward_pre_hook(lambda module, inputs: (inputs[0].round(decimals=1),))
        return network

    def patched(X: Any, y: Any) -> Any:
        network = _trained(_layers)(X, y)
        inner = network[2].forward
        network[2].forward = lambda x: inner(x) * torch.where(x[:, :1] > 0.3, -1.0, 1.0)
        return network

    def normed(X: Any, y: Any) -> Any:
        network = _trained(_layers)(X, y)
        nn.utils.parametrizations.weight_norm(network[0])
        return network

    yield Case("network hook", "array", hooked)
    yield Case("network patched forward", "array", patched)
    yield Case("network weight norm", "array", normed)
    yield Case("network half", "array", lambda X, y: _trained(_layers)(X, y).half())
    yield Case("network bfloat16", "array", lambda X, y: _trained(_layers)(X, y).to(torch.bfloat16))
    yield Case("network double", "array", lambda X, y: _trained(_layers)(X, y).double())
    yield Case("network training", "array", lambda X, y: _trained(_layers)(X, y).train())
    yield Case(
        "network softmax",
        "array",
        lambda X, y: nn.Sequential(_trained(_layers)(X, y), nn.Softmax(-1)),
    )
    yield Case("network script", "array", lambda X, y: torch.jit.script(_trained(_layers)(X, y)))
    yield Case("network embedded", "uint8", lambda X, y: Embedded().eval())

    def traced(X: Any, y: Any) -> Any:
        return torch.jit.trace(_trained(_layers)(X, y), torch.zeros(3, 2))

    def exported(X: Any, y: Any) -> Any:
        rows = torch.zeros(7, 2)
        shapes = ({0: torch.export.Dim("n")},)
        return torch.export.export(_trained(_layers)(X, y), (rows,), dynamic_shapes=shapes)

    yield Case("network traced", "array", traced)
    yield Case("network exported", "array", lambda X, y: exported(X, y).module())
    yield Case("network program", "array", exported)
    yield Case(
        "network compiled",
        "array",
        lambda X, y: torch.compile(_trained(_layers)(X, y), backend="eager"),
    )
    yield Case("network parallel", "array", lambda X, y: nn.DataParallel(_trained(_layers)(X, y)))
    yield Case(
        "network quantised",
        "array",
        lambda X, y: torch.ao.quantization.quantize_dynamic(_trained(_layers)(X, y), {nn.Linear}),
    )


def _skorch() -> Iterator[Case]:
    import skorch
    from torch import nn

    def classes(X: Any, y: Any, soft: bool, **options: Any) -> Any:
        layers = _layers()
        if soft:
            layers.append(nn.Softmax(-1))
        else:
            options["criterion"] = nn.CrossEntropyLoss
        model = skorch.NeuralNetClassifier(layers, max_epochs=10, lr=0.3, verbose=0, **options)
        return model.fit(np.asarray(X, dtype=np.float32), np.asarray(y))

    for data in ("array32", "array", "float32"):
        for soft in (False, True):
            yield Case(
                f"skorch {data} soft={soft}", data, lambda X, y, soft=soft: classes(X, y, soft)
            )

    def values(X: Any, y: Any) -> Any:
        model = skorch.NeuralNetRegressor(_layers("ReLU", 1), max_epochs=10, lr=0.01, verbose=0)
        return model.fit(X.astype(np.float32), y.astype(np.float32)[:, None])

    def binary(X: Any, y: Any) -> Any:
        model = skorch.NeuralNetBinaryClassifier(
            _layers("ReLU", 1), max_epochs=10, lr=0.3, verbose=0
        )
        return model.fit(X.astype(np.float32), y.astype(np.float32))

    yield Case("skorch values", "values", values, "squared")
    yield Case("skorch binary", "array32", binary)

    def piped(X: Any, y: Any) -> Any:
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import FunctionTransformer, StandardScaler

        narrow = FunctionTransformer(np.float32)
        model = skorch.NeuralNetClassifier(
            _layers(), criterion=nn.CrossEntropyLoss, max_epochs=10, lr=0.3, verbose=0
        )
        return make_pipeline(StandardScaler(), narrow, model).fit(X, y)

    yield Case("skorch piped", "array", piped)

    def scaled(X: Any, y: Any) -> Any:
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        model = skorch.NeuralNetClassifier(
            _layers(), criterion=nn.CrossEntropyLoss, max_epochs=10, lr=0.3, verbose=0
        )
        return make_pipeline(StandardScaler(), model).fit(X, y)

    for data in ("float32", "array32"):
        yield Case(f"skorch scaled {data}", data, scaled)
