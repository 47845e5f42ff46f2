"""Each check names the argument, the expected value and the received one."""

import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optional import array_api_strict, torch
from shiftmetrics._core.blocks import BLOCK_BYTES
from shiftmetrics._core.validation import (
    check_choice,
    check_finite,
    check_integer,
    check_keys,
    check_matrix,
    check_number,
    check_rng,
    check_same_library,
    check_same_shape,
    check_vector,
    check_weights,
    first_few,
)

REMEDY = "Drop or impute these rows first."


def refused(error: type[Exception], message: str):
    """Expect ``error`` with exactly ``message``: the words are part of the interface."""
    return pytest.raises(error, match=f"^{re.escape(message)}$")


def test_a_message_names_the_first_values_and_counts_the_rest() -> None:
    assert first_few(["a", "b"]) == "'a', 'b'"
    assert first_few(iter("abcde"), show=str) == "a, b, c and 2 more"
    assert first_few([1, 2], 1) == "1 and 1 more"
    assert first_few([]) == ""


# --- numbers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [2, 2.0, np.float32(2), np.int8(2), np.array(2.0), torch.tensor(2.0), Fraction(2), True + 1],
)
def test_a_number_of_any_type_becomes_a_float(value: object) -> None:
    number = check_number(value, "eta")
    assert type(number) is float
    assert number == 2.0


@pytest.mark.parametrize(
    ("value", "options", "message"),
    [
        (0, {"low": 1}, "eta must be a number at least 1, got 0."),
        (1, {"low": 1, "open_low": True}, "eta must be a number greater than 1, got 1."),
        (3, {"high": 2}, "eta must be a number at most 2, got 3."),
        (2, {"high": 2, "open_high": True}, "eta must be a number less than 2, got 2."),
        (-0.5, {"low": 0, "high": 1}, "eta must be a number at least 0 and at most 1, got -0.5."),
        (np.nan, {}, "eta must be a number that is finite, got nan."),
        (np.nan, {"allow_inf": True}, "eta must be a number (inf is allowed), got nan."),
        (np.inf, {}, "eta must be a number that is finite, got inf."),
        (np.inf, {"low": 0}, "eta must be a number at least 0, got inf."),
        (
            -np.inf,
            {"low": 0, "allow_inf": True},
            "eta must be a number at least 0 (inf is allowed), got -inf.",
        ),
        (10**400, {}, f"eta must be a number that is finite, got {str(10**400)[:60]}...."),
    ],
)
def test_a_number_out_of_range_is_a_value_error(value: object, options: dict, message: str) -> None:
    with refused(ValueError, message):
        check_number(value, "eta", **options)


def test_infinity_passes_where_it_is_allowed() -> None:
    assert check_number(np.inf, "theta1", low=0, open_low=True, allow_inf=True) == np.inf
    assert check_number(10**400, "theta1", allow_inf=True) == np.inf


@pytest.mark.parametrize(
    "value", [True, "1", None, [1], np.array([1.0]), 1j, torch.ones(2)], ids=repr
)
def test_what_is_no_number_is_a_type_error(value: object) -> None:
    with refused(TypeError, f"eta must be a real number, got {value!r}."):
        check_number(value, "eta")


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_an_integer_of_any_type_becomes_an_int(value: object) -> None:
    assert type(check_integer(value, "top")) is int
    assert check_integer(value, "top", low=3, high=3) == 3


@pytest.mark.parametrize(
    ("value", "options", "error", "message"),
    [
        (0, {"low": 1}, ValueError, "top must be an integer at least 1, got 0."),
        (9, {"low": 1, "high": 5}, ValueError, "top must be an integer between 1 and 5, got 9."),
        (9, {"high": 5}, ValueError, "top must be an integer at most 5, got 9."),
        (3.0, {}, TypeError, "top must be an integer, got 3.0."),
        (True, {}, TypeError, "top must be an integer, got True."),
        ("3", {}, TypeError, "top must be an integer, got '3'."),
        (None, {}, TypeError, "top must be an integer, got None."),
    ],
)
def test_a_wrong_integer_is_refused(
    value: object, options: dict, error: type[Exception], message: str
) -> None:
    with refused(error, message):
        check_integer(value, "top", **options)


# --- choices and seeds -----------------------------------------------------------------------------------


def test_a_choice_is_one_of_the_listed() -> None:
    assert check_choice("kl", "divergence", ("kl", "chi2")) == "kl"


@pytest.mark.parametrize("value", ["KL", "", None, 1, ["kl"], np.array(["kl", "chi2"])], ids=repr)
def test_another_choice_lists_them(value: object) -> None:
    with refused(ValueError, f"divergence must be one of 'kl', 'chi2', got {value!r}."):
        check_choice(value, "divergence", ("kl", "chi2"))


def test_an_unknown_key_is_refused_with_the_nearest_one() -> None:
    known = ("name", "at_least", "at_most")
    check_keys({"at_most": 1, "name": 2}, "rule", known)
    with refused(
        ValueError, "rule must be a table of known keys, got 'at_leats'. Did you mean 'at_least'?"
    ):
        check_keys(["name", "at_leats"], "rule", known)
    with refused(ValueError, "--only must be a name, got 'x'. Known: name, at_least, at_most."):
        check_keys(["x"], "--only", known, "a name")


def test_a_seed_makes_a_generator_and_a_generator_passes() -> None:
    assert check_rng(7).integers(1000) == np.random.default_rng(7).integers(1000)
    generator = np.random.default_rng(0)
    assert check_rng(generator) is generator
    assert isinstance(check_rng(None), np.random.Generator)
    assert len(check_rng(np.random.RandomState(0)).spawn(2)) == 2


@pytest.mark.parametrize(
    ("value", "error"), [("seed", TypeError), (1.5, TypeError), (True, TypeError), (-1, ValueError)]
)
def test_a_wrong_seed_is_named(value: object, error: type[Exception]) -> None:
    with refused(error, f"rng must be a seed, a numpy Generator or None, got {value!r}."):
        check_rng(value)


# --- arrays ----------------------------------------------------------------------------------------------


def test_a_matrix_keeps_its_library() -> None:
    for value in (np.ones((2, 3)), torch.ones(2, 3), array_api_strict.ones((2, 3))):
        assert check_matrix(value, "scores") is value or isinstance(value, torch.Tensor)
    assert isinstance(check_matrix(torch.ones(2, 3), "scores"), torch.Tensor)
    assert isinstance(check_matrix(pd.DataFrame([[1, 2]]), "scores"), np.ndarray)
    assert isinstance(check_matrix([[1, 2]], "scores"), np.ndarray)


@pytest.mark.parametrize(
    ("value", "options", "message"),
    [
        ([1, 2], {}, "scores must be an array of shape (n_samples, n_columns), got shape (2,)."),
        (3, {}, "scores must be an array of shape (n_samples, n_columns), got shape ()."),
        (
            np.ones((1, 2, 3)),
            {},
            "scores must be an array of shape (n_samples, n_columns), got shape (1, 2, 3).",
        ),
        ([], {}, "scores must be an array of shape (n_samples, n_columns), got shape (0,)."),
        (np.empty((0, 3)), {}, "scores must be an array of at least 1 row(s), got 0."),
        (np.ones((1, 3)), {"min_rows": 2}, "scores must be an array of at least 2 row(s), got 1."),
        (np.empty((3, 0)), {}, "scores must be an array of at least 1 column(s), got 0."),
        (
            np.ones((3, 1)),
            {"min_columns": 2},
            "scores must be an array of at least 2 column(s), got 1.",
        ),
        (
            [[1, 2], [np.nan, np.inf]],
            {},
            f"scores must be finite everywhere, got nan at row 1, column 0 (2 such value(s) seen). {REMEDY}",
        ),
        (
            torch.tensor([[1.0, -torch.inf]]),
            {},
            f"scores must be finite everywhere, got -inf at row 0, column 1 (1 such value(s) seen). {REMEDY}",
        ),
        (
            torch.tensor([[1.0, torch.nan]], dtype=torch.bfloat16),
            {},
            f"scores must be finite everywhere, got nan at row 0, column 1 (1 such value(s) seen). {REMEDY}",
        ),
        (
            array_api_strict.asarray([[1.0, float("nan")]]),
            {},
            f"scores must be finite everywhere, got nan at row 0, column 1 (1 such value(s) seen). {REMEDY}",
        ),
    ],
)
def test_a_wrong_matrix_is_a_value_error(value: object, options: dict, message: str) -> None:
    with refused(ValueError, message):
        check_matrix(value, "scores", **options)


def test_a_value_that_is_not_finite_is_found_in_any_block() -> None:
    n_rows = 3 * BLOCK_BYTES // 8
    vector = np.zeros((n_rows, 1), dtype=np.float32)
    vector[n_rows - 5] = np.inf
    with refused(
        ValueError,
        f"scores must be finite everywhere, got inf at row {n_rows - 5}, column 0 (1 such value(s) seen). {REMEDY}",
    ):
        check_finite(vector, "scores")


def test_a_sum_that_overflows_is_still_finite() -> None:
    check_finite(np.full((4, 4), 1e308), "scores")
    check_finite(np.array([[1e308, -1e308], [1e308, 1e308]]), "scores")


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32), min_size=1, max_size=8))
def test_finiteness_agrees_with_a_plain_look(values: list[float]) -> None:
    array = np.array(values)
    if np.isfinite(array).all():
        check_finite(array, "scores")
    else:
        with pytest.raises(
            ValueError, match=r"scores must be finite everywhere, got (nan|-?inf) at row"
        ):
            check_finite(array, "scores")


# --- vectors and weights ---------------------------------------------------------------------------------


def test_a_vector_is_numpy_float64() -> None:
    for value in (
        [1, 2],
        (True, True + 1),
        torch.tensor([1, 2]),
        pd.Series([1, 2], dtype="Int64"),
        np.float16([1, 2]),
    ):
        vector = check_vector(value, "losses", length=2)
        assert vector.dtype == np.float64
        np.testing.assert_array_equal(vector, [1, 2])
    assert check_vector([0, np.inf], "distances", low=0, allow_inf=True)[1] == np.inf


@pytest.mark.parametrize(
    ("value", "options", "message"),
    [
        ([[1], [2]], {}, "losses must be a one-dimensional array, got shape (2, 1)."),
        (1.0, {}, "losses must be a one-dimensional array, got shape ()."),
        ([1, 2], {"length": 3}, "losses must be of length 3, got length 2."),
        ([], {}, "losses must be an array of at least 1 value, got 0."),
        ([1, -0.5, -1], {"low": 0}, "losses must be at least 0 everywhere, got -0.5 at row 1."),
        (
            [0, np.inf],
            {},
            f"losses must be finite everywhere, got inf at row 1 (1 such value(s) seen). {REMEDY}",
        ),
        (
            [np.inf, None],
            {"allow_inf": True},
            f"losses must be free of NaN, got nan at row 1 (1 such value(s) seen). {REMEDY}",
        ),
    ],
)
def test_a_wrong_vector_is_a_value_error(value: object, options: dict, message: str) -> None:
    with refused(ValueError, message):
        check_vector(value, "losses", **options)


@given(st.lists(st.floats(0, 1e308), min_size=1, max_size=20).filter(any))
def test_weights_keep_their_ratios_and_have_mean_one(weights: list[float]) -> None:
    scaled = check_weights(weights, "sample_weight", len(weights))
    assert scaled is not None
    assert np.mean(scaled) == pytest.approx(1.0)
    largest = int(np.argmax(weights))
    np.testing.assert_allclose(
        scaled / scaled[largest], np.array(weights) / weights[largest], rtol=1e-12, atol=1e-300
    )


def test_no_weights_are_no_weights() -> None:
    assert check_weights(None, "sample_weight", 3) is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([0, 0, 0], "sample_weight must be positive for at least one row, got zeros only."),
        ([1, -1, 1], "sample_weight must be at least 0 everywhere, got -1 at row 1."),
        ([1, 1], "sample_weight must be of length 3, got length 2."),
        (
            [1, np.nan, 1],
            f"sample_weight must be finite everywhere, got nan at row 1 (1 such value(s) seen). {REMEDY}",
        ),
    ],
)
def test_wrong_weights_are_refused(value: list[float], message: str) -> None:
    with refused(ValueError, message):
        check_weights(value, "sample_weight", 3)


# --- two arrays ------------------------------------------------------------------------------------------


def test_pairs_have_one_shape() -> None:
    check_same_shape(np.ones((2, 3)), np.ones((2, 3)), "scores", "reference_scores")
    with refused(
        ValueError, "scores and reference_scores must have the same shape, got (2, 3) and (3, 2)."
    ):
        check_same_shape(np.ones((2, 3)), torch.ones(3, 2), "scores", "reference_scores")


def test_pairs_come_from_one_library_and_device() -> None:
    check_same_library(torch.ones(1), torch.ones(1), "scores", "reference_scores")
    check_same_library(np.ones(1), np.ones(1), "scores", "reference_scores")
    with refused(
        TypeError,
        "scores and reference_scores must come from the same array library, got numpy.ndarray and torch.Tensor. "
        "Convert one of them first.",
    ):
        check_same_library(np.ones(1), torch.ones(1), "scores", "reference_scores")
    with refused(
        ValueError,
        "scores and reference_scores must live on the same device, got cpu and meta. Move one of them first.",
    ):
        check_same_library(
            torch.ones(1), torch.ones(1, device="meta"), "scores", "reference_scores"
        )
