"""Principal components of two samples side by side: scikit-learn finds the same, the limits are the right ones."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from shiftmetrics import Result
from shiftmetrics_lab.distances import pca_alignment


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    labels = np.repeat(["seven", "two", "one"], 40)
    centers = {
        "one": [4.0, 0.0, 0.0, 1.0],
        "two": [0.0, 0.0, 0.0, 0.0],
        "seven": [-4.0, 1.0, 0.0, 0.0],
    }
    reference = np.array([centers[label] for label in labels]) + 0.5 * rng.normal(size=(120, 4))
    return reference + 0.3 * rng.normal(size=(120, 4)), reference, labels


def test_the_components_are_those_of_scikit_learn(sample):
    features, reference, labels = sample
    result = pca_alignment(features, reference, labels=labels)
    for part, projections, explained in (
        (features, result.parts["projections"], result.parts["explained"]),
        (reference, result.parts["reference_projections"], result.parts["reference_explained"]),
    ):
        pca = PCA(1).fit(part)
        expected = pca.transform(part)[:, 0]
        assert abs(np.corrcoef(expected, projections)[0, 1]) == pytest.approx(1.0, abs=1e-10)
        assert explained == pytest.approx(pca.explained_variance_ratio_[0])
        assert projections.mean() == pytest.approx(0.0, abs=1e-12)
        assert projections.std() == pytest.approx(1.0)
    first, second = result.parts["projections"], result.parts["reference_projections"]
    assert result.value == pytest.approx(np.mean((first - second) ** 2))
    assert result.value == pytest.approx(2.0 - 2.0 * result.parts["correlation"])
    within = np.mean([first[labels == label].var() for label in np.unique(labels)])
    assert result.parts["class_variance"] == pytest.approx(within)
    assert result.parts["class_variance"] < 0.1


def test_what_drives_the_features_shows(sample):
    features, reference, labels = sample
    invariant = pca_alignment(features, reference, labels=labels)
    rng = np.random.default_rng(1)
    # A shift that buries the classes in noise along another axis.
    domain = features + 30.0 * rng.normal(size=(120, 1)) * np.array([0.0, 0.0, 1.0, 0.0])
    driven = pca_alignment(domain, reference, labels=labels)
    assert invariant.value < 0.1 < 1.0 < driven.value <= 2.0
    assert driven.parts["class_variance"] > 0.8
    assert driven.parts["reference_class_variance"] == pytest.approx(
        invariant.parts["reference_class_variance"]
    )


def test_turning_moving_and_scaling_a_sample_changes_nothing(sample):
    features, reference, labels = sample
    plain = pca_alignment(features, reference, labels=labels)
    turned, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))
    other = pca_alignment(7.0 * features @ turned - 3.0, reference, labels=labels)
    assert other.value == pytest.approx(plain.value, abs=1e-10)
    assert other.parts["class_variance"] == pytest.approx(plain.parts["class_variance"])
    flipped = pca_alignment(-features, reference)
    assert flipped.value == pytest.approx(plain.value, abs=1e-10)
    assert flipped.parts["direction_cosine"] == pytest.approx(-plain.parts["direction_cosine"])
    assert flipped.parts["class_variance"] is None


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(8, 50))
    result = pca_alignment(wide, wide)
    assert result.value == pytest.approx(0.0, abs=1e-12)
    assert result.parts["explained"] == pytest.approx(PCA(1).fit(wide).explained_variance_ratio_[0])


def test_constant_features_are_a_status():
    result = pca_alignment(
        np.full((4, 3), 0.1), np.random.default_rng(0).normal(size=(4, 3)), labels=[0, 0, 1, 1]
    )
    assert result.status.code == "constant"
    assert np.isfinite(result.value)
    assert "Check the features" in result.summary()


def test_it_reads_and_travels(sample):
    result = pca_alignment(*sample[:2], labels=sample[2])
    assert "is within classes" in result.headline()
    assert Result.from_json(result.to_json()).equals(result)


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        ([0, 1], ValueError, "labels must be of length 120, got length 2"),
        ([None] * 120, ValueError, "labels must be free of missing labels"),
        (np.zeros((120, 2)), ValueError, "labels must be one label for each row"),
        ([0, "a"] * 60, TypeError, "labels must be all numbers or all strings"),
    ],
)
def test_bad_labels_are_named(sample, labels, error, message):
    if error is TypeError:
        labels = np.array(labels, dtype=object)
    with pytest.raises(error, match=message):
        pca_alignment(*sample[:2], labels=labels)
