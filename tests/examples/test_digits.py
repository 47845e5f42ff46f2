import numpy as np
import pytest

from shiftmetrics.examples import digits


@pytest.fixture(scope="module")
def data() -> digits.Digits:
    return digits.split_digits(0, 600)


@pytest.fixture(scope="module")
def model(data):
    return digits.fit_classifier(data.train_images, data.train_labels)


def test_halves_share_no_image_and_all_digits(data):
    assert len(data.train_images) == len(data.test_images) == 300
    assert set(data.train_labels) == set(data.test_labels) == set(range(10))
    train = {image.tobytes() for image in data.train_images}
    assert not train & {image.tobytes() for image in data.test_images}


def test_the_seed_draws_the_halves(data):
    np.testing.assert_array_equal(digits.split_digits(0, 600).test_images, data.test_images)
    assert not np.array_equal(digits.split_digits(1, 600).test_images, data.test_images)


def test_rotation_turns_each_image_by_itself():
    image = np.zeros((8, 8))
    image[3:5, 5:7] = 1.0  # right of the centre
    turned = digits.rotated(np.stack([image, image.T]), 90.0)
    np.testing.assert_allclose(turned[0], np.rot90(image), atol=1e-12)
    np.testing.assert_allclose(turned[1], np.rot90(image.T), atol=1e-12)
    np.testing.assert_allclose(digits.rotated(image[None], 0.0)[0], image, atol=1e-12)


def test_noise_has_the_scale_it_says_and_stays_in_range():
    grey = np.full((200, 8, 8), 0.5)
    assert np.std(digits.noisy(grey, 0.05, 0)) == pytest.approx(0.05, rel=0.02)
    strong = digits.noisy(grey, 0.3, 0)
    assert 0.0 <= strong.min() < 0.01
    assert 0.99 < strong.max() <= 1.0
    np.testing.assert_array_equal(strong, digits.noisy(grey, 0.3, 0))


def test_distances_lead_to_an_error_and_nothing_nearer_does(data, model):
    images, labels = data.test_images[:80], data.test_labels[:80]
    distances = digits.distances_to_error(model, images, labels)
    points = digits.pixels(images)
    np.testing.assert_array_equal(distances == 0.0, model.predict(points) != labels)
    rng = np.random.default_rng(0)
    for point, label, distance in zip(points, labels, distances, strict=True):
        if distance == 0.0:
            continue
        # The nearest error lies along the difference of two weight vectors.
        steps = model.coef_ - model.coef_[label]
        reached = False
        for other in range(10):
            norm = np.linalg.norm(steps[other])
            if other != label and norm > 0:
                beyond = point + (distance * (1 + 1e-6)) * steps[other] / norm
                reached = reached or model.predict(beyond[None])[0] != label
        assert reached
        random = rng.normal(size=(40, 64))
        inside = point + 0.999 * distance * random / np.linalg.norm(random, axis=1, keepdims=True)
        assert (model.predict(inside) == label).all()
