import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftmetrics.agreement import agreement_curves, posterior_agreement
from shiftmetrics_lab.shifts import apply_shift, mix
from shiftmetrics_lab.shifts.images import Contrast

ZEROS, ONES = np.zeros((10, 3)), np.ones((10, 3))


@given(st.floats(0.06, 1.0), st.floats(0.06, 1.0), st.integers(0, 5))
def test_ratios_nest_and_count(first, second, seed):
    small, large = sorted((first, second))
    a = mix(ONES, ZEROS, ratio=small, rng=seed)
    b = mix(ONES, ZEROS, ratio=large, rng=seed)
    assert a.shifted.sum() == round(small * 10)
    assert not (a.shifted & ~b.shifted).any()
    np.testing.assert_array_equal(a.sample[:, 0] == 1, a.shifted)


def test_the_ends_are_the_two_samples():
    np.testing.assert_array_equal(mix(ONES, ZEROS, ratio=0.0).sample, ZEROS)
    np.testing.assert_array_equal(mix(ONES, ZEROS, ratio=1.0).sample, ONES)
    np.testing.assert_array_equal(mix(ONES, ZEROS, ratio=0, by="linf").sample, ZEROS)


def test_a_shifted_sample_needs_no_reference_and_keeps_its_steps():
    images = np.random.default_rng(0).random((10, 4, 4))
    pair = mix(apply_shift(Contrast(), images, strength=0.5, rng=0), ratio=0.5, rng=1)
    assert [step.what for step in pair.steps] == ["Contrast()", "mix(by=random)"]
    assert pair.ratio == 0.5
    with pytest.raises(TypeError, match="reference must be left out"):
        mix(pair, images, ratio=0.5)


def test_attacked_rows_come_by_growing_norm():
    moves = np.array([0.3, 0.1, 0.5, 0.2])
    reference = np.random.default_rng(0).random((4, 2, 2))
    pair = mix(reference + moves[:, None, None], reference, ratio=0.5, by="linf")
    assert pair.shifted.tolist() == [False, True, False, True]
    # In the Euclidean norm many small changes outweigh one large change.
    changes = np.array([[0.5, 0.0, 0.0, 0.0], [0.3, 0.3, 0.3, 0.3]])
    assert mix(changes, 0 * changes, ratio=0.5, by="linf").shifted.tolist() == [False, True]
    assert mix(changes, 0 * changes, ratio=0.5, by="l2").shifted.tolist() == [True, False]


def test_given_norms_decide_and_failures_come_last():
    pair = mix(ONES[:4], ZEROS[:4], ratio=0.75, by=[np.inf, 2.0, 1.0, 3.0])
    assert pair.shifted.tolist() == [False, True, True, True]
    with pytest.raises(ValueError, match="by must be of length 4"):
        mix(ONES[:4], ZEROS[:4], ratio=0.5, by=[1.0])


def test_norms_do_not_depend_on_blocks(monkeypatch):
    import shiftmetrics_lab.shifts.mixing as mixing

    generator = np.random.default_rng(0)
    a, b = generator.random((50, 6)), generator.random((50, 6))
    whole = mixing._row_norms(a, b, "l2")
    monkeypatch.setattr(
        mixing, "row_blocks", lambda n, _: [slice(i, min(i + 7, n)) for i in range(0, n, 7)]
    )
    np.testing.assert_array_equal(mixing._row_norms(a, b, "l2"), whole)
    np.testing.assert_allclose(whole, np.linalg.norm(a - b, axis=1))


def test_tables_texts_and_tensors_are_mixed():
    import torch

    table = pd.DataFrame({"n": [1, 2, 3, 4], "s": list("abcd")}, index=[9, 7, 5, 3])
    other = table.assign(n=table["n"] * 10)
    pair = mix(other, table, ratio=0.5, rng=0)
    assert list(pair.sample.index) == [9, 7, 5, 3]
    assert pair.sample.dtypes.equals(table.dtypes)
    np.testing.assert_array_equal(pair.sample["n"] >= 10, pair.shifted)
    texts = mix(["A", "B"], ["a", "b"], ratio=0.5, rng=0)
    assert sorted("".join(texts.sample)) in (["A", "b"], ["B", "a"])
    tensors = mix(torch.ones(4, 2), torch.zeros(4, 2), ratio=0.25, rng=0)
    assert isinstance(tensors.sample, torch.Tensor)
    assert tensors.sample.sum() == 2
    tensors = mix(torch.tensor([[1.0], [0.5]]), torch.zeros(2, 1), ratio=0.5, by="linf")
    assert tensors.sample.ravel().tolist() == [0.0, 0.5]


@pytest.mark.parametrize(
    ("shifted", "reference", "ratio", "error", "message"),
    [
        (ONES, ZEROS, 1.1, ValueError, "ratio must be a number at least 0 and at most 1"),
        (ONES, ZEROS, 0.01, ValueError, "Use at least 0.1"),
        (ONES, ZEROS, None, TypeError, "ratio must be a real number"),
        (ONES, ZEROS[:5], 0.5, ValueError, "same number of rows"),
        (ONES, np.zeros((10, 4)), 0.5, ValueError, "same shape"),
        (ONES[:0], ZEROS[:0], 0.5, ValueError, "at least one row"),
        (ONES, None, 0.5, TypeError, "reference must be the sample before"),
        (pd.DataFrame(ONES), ZEROS, 0.5, TypeError, "of one kind"),
        (
            pd.DataFrame(ONES),
            pd.DataFrame(ZEROS, index=range(1, 11)),
            0.5,
            ValueError,
            "index of reference",
        ),
        (
            pd.DataFrame(ONES),
            pd.DataFrame(ZEROS, columns=list("abc")),
            0.5,
            ValueError,
            "columns of reference",
        ),
        ("text", "tuxt", 0.5, TypeError, "a list of strings"),
    ],
)
def test_bad_input_is_named(shifted, reference, ratio, error, message):
    with pytest.raises(error, match=message):
        mix(shifted, reference, ratio=ratio, rng=0)


def test_norms_of_texts_must_be_given():
    with pytest.raises(TypeError, match="Pass the norms"):
        mix(["a"], ["b"], ratio=1.0, by="linf")
    with pytest.raises(ValueError, match="by must be one of"):
        mix(ONES, ZEROS, ratio=1.0, by="l1")


def test_rows_are_shifted_as_by_mixing_by_norm() -> None:
    rng = np.random.default_rng(7)
    reference = rng.normal(size=(300, 4)) + 2 * np.eye(4)[rng.integers(4, size=300)]
    noise = rng.normal(size=(300, 4))
    shifted = reference + 1.5 * noise
    sizes = np.linalg.norm(noise, axis=1)
    curves = agreement_curves(shifted, reference, ratios=[0.3], perturbation_sizes=sizes)
    pair = mix(shifted, reference, ratio=0.3, by=sizes)
    assert curves.agreement.value[0, 0] == pytest.approx(
        posterior_agreement(pair.sample, reference).value, abs=2e-5
    )
