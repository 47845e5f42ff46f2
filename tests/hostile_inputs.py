"""Hostile values for any argument, and what counts as an answer in words: for the fuzzers of calls and files."""

import dataclasses
import traceback
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

import shiftmetrics

SOURCE = str(Path(shiftmetrics.__file__).parent)
IN_WORDS = (ValueError, TypeError, MemoryError, ImportError, ConnectionError)


class Strange:
    """An object that is nothing in particular."""


def values(rng: np.random.Generator, n: int) -> dict[str, Callable[[], Any]]:
    """Return makers of values that no function takes, or that it takes only by chance."""
    matrix = rng.normal(size=(n, 3))
    holes = np.where(rng.random(n) < 0.2, np.nan, matrix[:, 0])
    labels = rng.integers(0, 3, n)
    found: dict[str, Callable[[], Any]] = {
        "None": lambda: None,
        "zero": lambda: 0,
        "minus one": lambda: -1,
        "nan": lambda: float("nan"),
        "inf": lambda: float("inf"),
        "huge": lambda: 10**400,
        "text": lambda: "hello",
        "empty text": lambda: "",
        "bytes": lambda: b"hello",
        "bytearray": lambda: bytearray(b"hello"),
        "range": lambda: range(n),
        "set": lambda: {1.0, 2.0, 3.0},
        "frozenset": lambda: frozenset((0, 1)),
        "dict": lambda: {"a": 1.0},
        "dict of lists": lambda: {"a": list(range(n)), "b": list(range(n))},
        "generator": lambda: (row for row in matrix),
        "iterator": lambda: iter(matrix.tolist()),
        "object": Strange,
        "class": lambda: Strange,
        "function": lambda: len,
        "module": lambda: np,
        "slice": lambda: slice(3),
        "complex": lambda: 1j,
        "complex matrix": lambda: matrix + 1j,
        "complex list": lambda: [1j] * n,
        "complex table": lambda: pd.DataFrame(matrix + 1j),
        "complex series": lambda: pd.Series(matrix[:, 0] + 1j),
        "empty list": list,
        "empty array": lambda: np.empty(0),
        "no columns": lambda: np.empty((n, 0)),
        "no rows": lambda: np.empty((0, 3)),
        "no columns in a table": lambda: pd.DataFrame(index=range(n)),
        "no rows in a table": lambda: pd.DataFrame({"a": [], "b": []}),
        "a scalar array": lambda: np.array(1.0),
        "one row": lambda: matrix[:1],
        "fewer rows": lambda: matrix[:-3],
        "fewer labels": lambda: labels[:-3],
        "three axes": lambda: np.ones((n, 2, 2)),
        "five axes": lambda: np.ones((n, 1, 1, 1, 1)),
        "ragged": lambda: [[1.0], [1.0, 2.0]] * (n // 2),
        "ragged labels": lambda: [0, [1, 2]] * (n // 2),
        "ragged objects": lambda: np.array([[1.0], [1.0, 2.0]] * (n // 2), dtype=object),
        "masked": lambda: np.ma.masked_array(matrix, mask=matrix > 1.0),
        "masked labels": lambda: np.ma.masked_array(labels, mask=np.arange(n) == 4),
        "masked text": lambda: np.ma.masked_array(labels.astype(str), mask=np.arange(n) == 4),
        "structured": lambda: np.zeros(n, dtype=[("a", float), ("b", int)]),
        "dates": lambda: np.arange(n).astype("datetime64[D]"),
        "durations": lambda: np.arange(n).astype("timedelta64[s]"),
        "dates in a table": lambda: pd.DataFrame({"a": pd.date_range("2020", periods=n)}),
        "periods": lambda: pd.period_range("2020", periods=n, freq="D").to_series(),
        "intervals": lambda: pd.Series(pd.cut(matrix[:, 0], 3)),
        "void": lambda: np.zeros((n, 3), dtype="V8"),
        "text matrix": lambda: matrix.astype(str),
        "bytes matrix": lambda: matrix.astype("S4"),
        "half": lambda: matrix.astype(np.float16),
        "long": lambda: matrix.astype(np.longdouble),
        "holes": lambda: np.where(matrix > 1.0, np.nan, matrix),
        "infinite": lambda: np.where(matrix > 1.0, np.inf, matrix),
        "overflowing": lambda: matrix * 1e308,
        "of size 1e80": lambda: np.abs(matrix[:, 0]) * 1e80,
        "tiny": lambda: matrix * 1e-320,
        "constant": lambda: np.ones((n, 3)),
        "constant labels": lambda: np.zeros(n, dtype=int),
        "negative": lambda: -np.ones(n),
        "labels with holes": lambda: holes,
        "labels None": lambda: [None, *labels[1:].tolist()],
        "mixed labels": lambda: ["a", 1] * (n // 2),
        "object labels": lambda: np.array([Strange() for _ in range(n)], dtype=object),
        "class labels": lambda: np.array([Strange, int] * (n // 2), dtype=object),
        "tuple labels": lambda: [(1, 2)] * n,
        "big integers": lambda: np.array([2**70 + k for k in range(n)], dtype=object),
        "unsigned": lambda: np.full(n, 2**64 - 1, dtype=np.uint64),
        "Decimal": lambda: [Decimal("0.5")] * n,
        "Decimal table": lambda: pd.DataFrame({"a": [Decimal("0.5")] * n, "b": 1.0}),
        "nullable": lambda: pd.DataFrame(matrix).convert_dtypes(),
        "nullable with NA": lambda: pd.DataFrame(
            {"a": pd.array([None, *labels[1:].tolist()], dtype="Int64"), "b": matrix[:, 1]}
        ),
        "nullable bool": lambda: pd.Series(pd.array([True, None] * (n // 2), dtype="boolean")),
        "categories": lambda: pd.Series(labels).astype("category"),
        "categories in a table": lambda: pd.DataFrame({"a": pd.Categorical(labels)}),
        "repeated columns": lambda: pd.DataFrame(matrix, columns=["a", "a", "b"]),
        "repeated index": lambda: pd.DataFrame(matrix, index=[0] * n),
        "two levels": lambda: pd.DataFrame(
            matrix, columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)])
        ),
        "strange names": lambda: pd.DataFrame(matrix, columns=[None, 1.5, "x"]),
        "nested table": lambda: pd.DataFrame({"a": [[1, 2]] * n}),
        "sparse": lambda: sparse.csr_matrix(matrix),
        "sparse array": lambda: sparse.coo_array(matrix),
        "sparse table": lambda: pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(matrix)),
        "memory": lambda: memoryview(matrix),
        "buffer": lambda: memoryview(b"hello"),
        "matrix": lambda: np.asmatrix(matrix),
    }
    try:
        import torch
    except ImportError:
        return found
    tensor = torch.as_tensor(matrix)
    found |= {
        "tensor": lambda: tensor,
        "tensor with gradient": lambda: tensor.clone().requires_grad_(),
        "meta tensor": lambda: torch.empty((n, 3), device="meta"),
        "sparse tensor": lambda: tensor.to_sparse(),
        "csr tensor": lambda: tensor.to_sparse_csr(),
        "complex tensor": lambda: tensor + 1j,
        "quantised tensor": lambda: torch.quantize_per_tensor(tensor.float(), 0.1, 0, torch.qint8),
        "bfloat tensor": lambda: tensor.bfloat16(),
        "tensors of two sizes": lambda: [torch.ones(2), torch.ones(3)],
        "module of torch": lambda: torch.nn.Linear(3, 2),
    }
    return found


def foreign(error: BaseException) -> str | None:
    """Return what is wrong with an error as an answer: its type, or that no line of this package raised it."""
    if not isinstance(error, IN_WORDS):
        return f"{type(error).__name__}: {error}"[:200]
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1]
    if not last.filename.startswith(SOURCE) or "raise" not in (last.line or "raise"):
        ours = [frame for frame in frames if frame.filename.startswith(SOURCE)]
        place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "nowhere"
        return f"{type(error).__name__} at {place}: {error}"[:200]
    return None


def numbers_of(result: Any) -> Iterator[float]:
    """Yield the value of a result and of the parts of it that have one."""
    if dataclasses.is_dataclass(result) and hasattr(result, "value"):
        yield result.value


def outcome(call: Callable[[], Any]) -> str | None:
    """Return what is wrong with the outcome of a call: a foreign error, or a value that is no number."""
    try:
        result = call()
    except Exception as error:
        return foreign(error)
    for value in numbers_of(result):
        if value != value:
            return "the value is NaN"
    return None
