"""Sampling inside a mode: the Gaussian that is meant, its shrinkage, and what is refused."""

import numpy as np
import pytest

from shiftmetrics import Result
from shiftmetrics.novelty import kernel_entropic_novelty
from shiftmetrics_lab.mode_sampling import sample_mode

COVARIANCE = np.array([[0.30, 0.10], [0.10, 0.20]])


@pytest.fixture(scope="module")
def latents():
    rng = np.random.default_rng(0)
    return np.concatenate(
        [rng.normal(size=(40, 2)), rng.multivariate_normal([6.0, -6.0], COVARIANCE, size=60)]
    )


@pytest.fixture(scope="module")
def mode(latents):
    reference = np.random.default_rng(1).normal(size=(50, 2))
    return kernel_entropic_novelty(latents, reference, bandwidth=2.0).new[0]


def test_draws_have_the_mean_and_covariance_of_the_members(mode, latents):
    members = latents[mode.members()]
    assert len(members) == 60
    drawn = sample_mode(mode, latents, 40000, rng=0)
    assert drawn.shape == (40000, 2)
    np.testing.assert_allclose(drawn.mean(axis=0), members.mean(axis=0), atol=0.02)
    np.testing.assert_allclose(np.cov(drawn.T), np.cov(members.T, bias=True), atol=0.01)
    assert mode.score(drawn).mean() > 0.9 * mode.score(members).mean()


def test_draws_are_gaussian(mode, latents):
    drawn = sample_mode(mode, latents, 20000, rng=0)
    standard = (drawn - drawn.mean(axis=0)) / drawn.std(axis=0)
    np.testing.assert_allclose((standard**3).mean(axis=0), 0.0, atol=0.08)
    np.testing.assert_allclose((standard**4).mean(axis=0), 3.0, atol=0.2)


def test_full_shrinkage_gives_equal_variances(mode, latents):
    drawn = sample_mode(mode, latents, 40000, shrinkage=1.0, rng=0)
    members = latents[mode.members()]
    np.testing.assert_allclose(np.cov(drawn.T), members.var(axis=0).mean() * np.eye(2), atol=0.01)


def test_fewer_members_than_dimensions_fill_the_space(mode, latents):
    wide = np.random.default_rng(2).normal(size=(100, 80))
    drawn = sample_mode(mode, wide, 300, rng=0)
    assert np.linalg.matrix_rank(drawn - drawn.mean(axis=0)) == 80
    flat = sample_mode(mode, wide, 300, shrinkage=0.0, rng=0)
    assert np.linalg.matrix_rank(flat - flat.mean(axis=0)) == 59
    equal = np.ones((100, 80))
    np.testing.assert_array_equal(sample_mode(mode, equal, 3, rng=0), np.ones((3, 80)))


def test_seeds_and_other_array_libraries(mode, latents):
    torch = pytest.importorskip("torch")
    first = sample_mode(mode, latents, 5, rng=3)
    np.testing.assert_array_equal(sample_mode(mode, torch.from_numpy(latents), 5, rng=3), first)
    np.testing.assert_array_equal(
        sample_mode(mode, latents.tolist(), 5, rng=np.random.default_rng(3)), first
    )
    assert not np.array_equal(sample_mode(mode, latents, 5, rng=4), first)


def test_modes_of_the_reference(latents):
    result = kernel_entropic_novelty(latents[:40], latents, bandwidth=2.0)
    drawn = sample_mode(result.missing[0], latents, 5, of="reference", rng=0)
    assert drawn.shape == (5, 2)
    with pytest.raises(
        ValueError, match="mode must be of at least two members in the test sample, got 0"
    ):
        sample_mode(result.missing[0], latents[:40], 5)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            {"latents": np.ones((99, 2))},
            ValueError,
            "latents must be of 100 rows, as the test sample, got 99 rows",
        ),
        ({"latents": np.ones(100)}, ValueError, "latents must be an array of shape"),
        ({"latents": np.full((100, 2), np.nan)}, ValueError, "latents must be finite"),
        ({"latents": ["a"] * 100}, TypeError, "latents must hold real numbers"),
        ({"shrinkage": -0.1}, ValueError, "shrinkage must be"),
        ({"shrinkage": "most"}, ValueError, "'auto'"),
        ({"n_samples": 0}, ValueError, "n_samples must be"),
        ({"of": "both"}, ValueError, "of must be"),
        ({"rng": "seed"}, TypeError, "rng must be"),
    ],
)
def test_bad_input_is_named(mode, latents, change, error, message):
    arguments = {"latents": latents, "n_samples": 3, **change}
    with pytest.raises(error, match=message):
        sample_mode(mode, arguments.pop("latents"), arguments.pop("n_samples"), **arguments)


def test_what_is_no_mode_is_named(latents):
    with pytest.raises(TypeError, match=r"mode must be a Mode, such as result.new\[0\], got int"):
        sample_mode(0, latents, 3)


def test_a_mode_read_from_a_file_has_no_members(latents):
    result = kernel_entropic_novelty(latents, latents[:40], bandwidth=2.0)
    mode = Result.from_json(result.to_json()).new[0]
    with pytest.raises(ValueError, match="got one read from a file"):
        sample_mode(mode, latents, 3)
