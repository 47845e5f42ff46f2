"""What users hold, at the door: every array library, every dtype, tables, lists, and what is refused."""

import math
import pickle
import threading
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from optional import array_api_strict, torch
from shiftmetrics import audit_samples
from shiftmetrics._core.arrays import (
    Workspace,
    as_array,
    check_in_memory,
    entropy,
    float64_rows,
    is_labelled,
    is_partitioned,
    is_table,
    namespace,
    to_float64,
    to_numpy,
)

MATRIX = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


# --- what comes in stays what it is, or becomes NumPy ----------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        MATRIX,
        tuple(map(tuple, MATRIX)),
        np.asarray(MATRIX),
        np.asarray(MATRIX, dtype=object),
        np.asfortranarray(MATRIX),
        [np.array(row) for row in MATRIX],
        [torch.tensor(row) for row in MATRIX],
        pd.DataFrame(MATRIX),
        pd.DataFrame(MATRIX, dtype="Float64"),
        pd.DataFrame(MATRIX, dtype="float32"),
        pd.DataFrame(MATRIX, dtype="Int64"),
        pd.DataFrame(MATRIX, dtype="float64[pyarrow]"),
        [[Fraction(1), Decimal(2)], [3, 4.0], [np.int8(5), np.float16(6)]],
        np.ma.array(MATRIX),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_an_array_of_another_library_becomes_numpy(value: object) -> None:
    array = as_array(value, "scores")
    assert type(array) is np.ndarray
    np.testing.assert_array_equal(to_float64(array), MATRIX)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int32", "int64", "float16", "float32", "float64"]
)
@pytest.mark.parametrize(
    "library", [np, torch, array_api_strict], ids=lambda module: module.__name__
)
def test_every_real_dtype_of_every_library_is_read_as_float64(library: object, dtype: str) -> None:
    if library is array_api_strict and dtype == "float16":
        pytest.skip("the standard has no float16")
    values = np.array([[0, 1], [1, 1]])
    array = library.asarray(values, dtype=getattr(library, dtype))
    kept = as_array(array, "scores")
    assert type(kept) is type(array)
    assert kept.dtype == array.dtype
    block = float64_rows(kept, slice(0, 2))
    assert block.dtype == library.float64
    np.testing.assert_array_equal(to_float64(block), values)


def test_bfloat16_has_no_numpy_dtype_but_is_read_exactly() -> None:
    tensor = torch.tensor([0.5, 1.25, -3.0], dtype=torch.bfloat16)
    np.testing.assert_array_equal(to_float64(as_array(tensor, "scores")), [0.5, 1.25, -3.0])
    assert float64_rows(tensor, slice(1, 3)).tolist() == [1.25, -3.0]


def test_a_tensor_leaves_its_gradient_graph() -> None:
    tensor = torch.ones(3, 2, requires_grad=True) * 2
    kept = as_array(tensor, "scores")
    assert not kept.requires_grad
    np.testing.assert_array_equal(to_numpy(tensor), np.full((3, 2), 2.0))


def test_numpy_arrays_are_not_copied() -> None:
    array = np.arange(6.0).reshape(3, 2)
    assert as_array(array, "scores") is array
    assert np.shares_memory(float64_rows(array, slice(1, 3)), array)
    assert np.shares_memory(to_float64(array), array)


def test_a_memory_map_stays_on_disk(tmp_path) -> None:
    np.save(tmp_path / "scores.npy", np.arange(6.0).reshape(3, 2))
    stored = np.load(tmp_path / "scores.npy", mmap_mode="r")
    assert np.shares_memory(as_array(stored, "scores"), stored)


@given(
    hnp.arrays(
        st.sampled_from(["f2", "f4", "f8", "i1", "i4", "u2", "?", ">f8", ">i4"]),
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=5),
    )
)
def test_blocks_of_rows_hold_the_values_of_the_array(array: np.ndarray) -> None:
    middle = array.shape[0] // 2
    parts = [
        float64_rows(array, slice(0, middle)),
        float64_rows(array, slice(middle, array.shape[0])),
    ]
    assert all(part.dtype == np.float64 for part in parts)
    np.testing.assert_array_equal(np.concatenate(parts), array.astype(np.float64))


# --- missing values --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        [1.0, None],
        np.array([1.0, None], dtype=object),
        np.array([1.0, pd.NA], dtype=object),
        np.array([1.0, pd.NaT], dtype=object),
        np.ma.array([1.0, 2.0], mask=[False, True]),
        np.ma.array([1, 2], mask=[False, True]),
        pd.array([1, None], dtype="Int64"),
        pd.array([True, None], dtype="boolean"),
        pd.Series([1.0, None]),
        pd.Series([1.0, None], dtype="Float32"),
        pd.Series([1.0, None], dtype="float64[pyarrow]"),
        pd.Series([1, None], dtype="Int64"),
    ],
    ids=str,
)
def test_a_missing_value_is_nan(value: object) -> None:
    np.testing.assert_array_equal(to_float64(as_array(value, "scores")), [1.0, np.nan])


def test_columns_of_different_dtypes_make_one_matrix() -> None:
    table = pd.DataFrame(
        {
            "flag": [True, False],
            "count": pd.array([3, None], dtype="Int64"),
            "share": np.array([0.5, 0.25], dtype=np.float32),
            "object": np.array([7, 8.5], dtype=object),
            "level": pd.Categorical([2, 4]),
        }
    )
    np.testing.assert_array_equal(
        as_array(table, "features"), [[1, 3, 0.5, 7, 2], [0, np.nan, 0.25, 8.5, 4]]
    )
    assert as_array(pd.DataFrame(index=range(3)), "features").shape == (3, 0)


# --- what is refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("0.5", r"scores must hold real numbers, got dtype <U3\."),
        (["1", "2"], r"scores must hold real numbers, got dtype <U1\."),
        ([b"1"], r"scores must hold real numbers, got dtype \|S1\."),
        ([1.0, "a"], "scores must hold real numbers, got dtype"),
        (np.array([1.0, "a"], dtype=object), r"scores must hold real numbers, got 'a'\."),
        (np.array([1j], dtype=object), r"scores must hold real numbers, got 1j\."),
        (np.array([1 + 2j]), r"scores must hold real numbers, got dtype complex128\."),
        (
            torch.ones(2, dtype=torch.complex64),
            r"scores must hold real numbers, got dtype torch\.complex64\.",
        ),
        (array_api_strict.asarray([1j]), "scores must hold real numbers, got dtype"),
        ({"a": 1}, r"scores must hold real numbers, got \{'a': 1\}\."),
        ({1, 2}, r"scores must hold real numbers, got \{1, 2\}\."),
        ((x for x in [1]), "scores must hold real numbers, got <generator"),
        (
            np.array(["2020-01-01"], dtype="M8[D]"),
            r"scores must hold real numbers, got dtype datetime64\[D\]\.",
        ),
        (np.zeros(2, dtype=[("a", "f8")]), "scores must hold real numbers, got dtype"),
        (
            [[1, 2], [3]],
            "scores must be an array of numbers, got rows of different lengths. Give every row",
        ),
        (
            [np.ones(2), np.ones(3)],
            "scores must be an array of numbers, got rows of different lengths",
        ),
        (
            [torch.ones(1, requires_grad=True)],
            "scores must be an array of numbers, got a list that NumPy cannot",
        ),
        (
            scipy.sparse.csr_matrix(np.eye(2)),
            "scores must be a dense array, got a sparse csr_matrix. Convert it",
        ),
        (scipy.sparse.coo_array(np.eye(2)), "scores must be a dense array, got a sparse coo_array"),
        (torch.eye(2).to_sparse(), "scores must be a dense array, got a sparse Tensor"),
        (
            pd.DataFrame({"age": [1], "name": ["x"]}),
            "scores.* column 'name'.* must hold real numbers, got",
        ),
        (
            pd.DataFrame({"day": pd.to_datetime(["2020-01-01"])}),
            "scores .*got column 'day' of dtype datetime64",
        ),
        (pd.Series(["x"]), "scores must hold real numbers, got"),
        (np.array(["x" * 500], dtype=object), r"scores must hold real numbers, got 'x{59}\.\.\.\."),
    ],
    ids=lambda value: None if isinstance(value, str) and len(value) > 8 else type(value).__name__,
)
def test_what_is_not_a_real_array_is_refused_by_name(value: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        as_array(value, "scores")


# --- small questions -------------------------------------------------------------------------------------


def test_tables_and_labelled_rows_are_recognised() -> None:
    frame, series = pd.DataFrame({"a": [1]}), pd.Series([1])
    assert is_table(frame)
    assert is_labelled(frame)
    assert is_labelled(series)
    for value in (series.to_numpy(), [1], (1,), torch.ones(1), "text"):
        assert not is_table(value)
        assert not is_labelled(value)


def test_two_libraries_share_no_namespace() -> None:
    assert namespace(np.ones(1), np.ones(2)).__name__.endswith("numpy")
    with pytest.raises(TypeError):
        namespace(np.ones(1), torch.ones(1))


def test_arrays_of_the_standard_reach_numpy() -> None:
    for dtype in ("float32", "int16", "bool"):
        array = array_api_strict.asarray([[0, 1]], dtype=getattr(array_api_strict, dtype))
        assert to_numpy(array).dtype == np.dtype(dtype)


def test_entropy() -> None:
    assert entropy(np.array([0.5, 0.0, 0.5])) == pytest.approx(math.log(2))
    assert entropy(np.full(10, 0.1)) == pytest.approx(math.log(10))
    assert math.copysign(1.0, entropy(np.array([0.0, 1.0]))) == 1.0


def test_buffers_are_kept_and_grow() -> None:
    workspace = Workspace()
    first = workspace.buffer("a", (4, 5))
    assert first.shape == (4, 5)
    assert first.dtype == np.float64
    assert np.shares_memory(first, workspace.buffer("a", (2, 5)))
    assert workspace.buffer("a", (2, 5)).flags.c_contiguous
    assert not np.shares_memory(first, workspace.buffer("b", (4, 5)))
    assert workspace.buffer("a", (40, 5)).shape == (40, 5)


def test_buffers_do_not_travel() -> None:
    workspace = Workspace()
    workspace.buffer("a", (1000, 1000))
    message = pickle.dumps(workspace)
    assert len(message) < 1000
    assert pickle.loads(message).buffer("a", (3,)).shape == (3,)


def test_each_thread_has_its_own_buffers() -> None:
    workspace = Workspace()
    mine = workspace.buffer("a", (3,))
    theirs: list[np.ndarray] = []
    thread = threading.Thread(target=lambda: theirs.append(workspace.buffer("a", (3,))))
    thread.start()
    thread.join()
    assert not np.shares_memory(mine, theirs[0])


def test_collections_of_dask_are_no_tables_in_memory() -> None:
    """Read as an array, a data frame of Dask would lose the names of its columns."""

    class Partitioned:
        npartitions = 2

        def to_delayed(self) -> list[object]:
            return []

    assert is_partitioned(Partitioned())
    assert not is_partitioned(np.ones(3))
    check_in_memory(np.ones(3), "reference")
    with pytest.raises(TypeError, match="reference must be a table in memory"):
        check_in_memory(Partitioned(), "reference")
    with pytest.raises(TypeError, match="reference must be a table in memory"):
        audit_samples(Partitioned(), np.ones((3, 2)))
