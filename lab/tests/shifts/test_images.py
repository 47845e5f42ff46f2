import io

import numpy as np
import pytest

from shiftmetrics_lab.shifts.images import (
    CORRUPTIONS,
    JPEG,
    Blur,
    Brightness,
    Contrast,
    GaussianNoise,
    ImpulseNoise,
    Pixelate,
    ShotNoise,
)

GREY = np.random.default_rng(0).random((5, 12, 10))
COLOUR = np.random.default_rng(1).random((5, 12, 10, 3))
BYTES = (255 * COLOUR).astype(np.uint8)
AMOUNT = {"blur": 1.0}  # a middling strength of each; 0.4 suits all others


@pytest.mark.parametrize("name", CORRUPTIONS)
@pytest.mark.parametrize(
    "images",
    [GREY, COLOUR, BYTES, COLOUR.astype(np.float32), COLOUR.astype(np.float16), BYTES[..., :1]],
)
def test_every_corruption_keeps_shape_dtype_range_and_input(name, images):
    before = images.copy()
    shifted = CORRUPTIONS[name](images, strength=AMOUNT.get(name, 0.4), rng=0)
    assert shifted.shape == images.shape
    assert shifted.dtype == images.dtype
    assert shifted.min() >= 0
    assert shifted.max() <= (255 if images.dtype == np.uint8 else 1)
    assert (shifted != images).any(axis=tuple(range(1, images.ndim))).all()
    np.testing.assert_array_equal(images, before)


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_strength_zero_is_the_identity_and_seeds_repeat(name):
    shift, strength = CORRUPTIONS[name], AMOUNT.get(name, 0.4)
    same = shift(BYTES, strength=0, rng=0)
    np.testing.assert_array_equal(same, BYTES)
    assert not np.shares_memory(same, BYTES)
    np.testing.assert_array_equal(
        shift(COLOUR, strength=strength, rng=5), shift(COLOUR, strength=strength, rng=5)
    )


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_batches_and_blocks_give_what_the_whole_gives(name, monkeypatch):
    import shiftmetrics_lab.shifts.images as module

    shift, strength = CORRUPTIONS[name], AMOUNT.get(name, 0.4)
    whole = shift(COLOUR, strength=strength, rng=2)
    batches = [
        shift(COLOUR[:2], strength=strength, rng=2),
        shift(COLOUR[2:], strength=strength, rng=2, first_row=2),
    ]
    np.testing.assert_array_equal(np.concatenate(batches), whole)
    monkeypatch.setattr(module, "row_blocks", lambda n, _: [slice(i, i + 1) for i in range(n)])
    np.testing.assert_array_equal(shift(COLOUR, strength=strength, rng=2), whole)


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_more_strength_moves_images_further(name):
    top = 3.0 if name == "blur" else 0.8
    smooth = np.linspace(0.1, 0.9, 32 * 32).reshape(1, 32, 32) + 0.1 * np.sin(np.arange(32))
    images = np.clip(np.repeat(smooth, 4, axis=0), 0, 1)
    moved = [
        np.abs(CORRUPTIONS[name](images, strength=top * s, rng=0) - images).mean()
        for s in (0.25, 0.6, 1)
    ]
    assert moved[0] < moved[1] < moved[2]


def test_gaussian_noise_reaches_epsilon_at_three_deviations():
    grey = np.full((40, 32, 32), 0.5)
    epsilon = 32 / 255
    noise = GaussianNoise()(grey, strength=epsilon, rng=0) - grey
    assert noise.std() == pytest.approx(epsilon / 3, rel=0.01)  # sigma = epsilon / 3
    assert (np.abs(noise) <= epsilon).mean() == pytest.approx(0.9973, abs=0.001)
    assert abs(noise.mean()) < 4 * epsilon / 3 / np.sqrt(noise.size)
    # One seed, another strength: the same noise, scaled.
    np.testing.assert_allclose(
        GaussianNoise()(grey, strength=epsilon / 2, rng=0) - grey, noise / 2, atol=1e-12
    )


def test_shot_noise_grows_with_the_root_of_the_light():
    for level in (0.1, 0.4):
        grey = np.full((20, 32, 32), level)
        noisy = ShotNoise()(grey, strength=0.05, rng=0)
        assert noisy.mean() == pytest.approx(level, rel=0.01)
        assert noisy.std() == pytest.approx(0.05 * np.sqrt(level), rel=0.03)
    assert np.isfinite(ShotNoise()(GREY, strength=1e-12, rng=0)).all()
    np.testing.assert_allclose(ShotNoise()(GREY, strength=1e-6, rng=0), GREY, atol=1e-4)


def test_impulses_are_evenly_black_and_white_and_nest():
    grey = np.full((20, 32, 32), 0.5)
    weak, strong = (ImpulseNoise()(grey, strength=s, rng=0) for s in (0.1, 0.3))
    assert (strong != 0.5).mean() == pytest.approx(0.3, abs=0.01)
    assert strong[strong != 0.5].mean() == pytest.approx(0.5, abs=0.02)
    assert not ((weak != 0.5) & (strong == 0.5)).any()
    assert (ImpulseNoise()(grey, strength=1, rng=0) != 0.5).all()


def test_blur_keeps_light_and_does_not_mix_images_or_channels():
    images = np.zeros((2, 15, 15, 3))
    images[0, 7, 7, 1] = 1.0
    blurred = Blur()(images, strength=1.0)
    assert blurred[0, ..., 1].sum() == pytest.approx(1.0, abs=1e-6)
    assert blurred[1].max() == blurred[0, ..., [0, 2]].max() == 0.0


def test_brightness_contrast_and_pixelate_do_what_they_say():
    np.testing.assert_allclose(Brightness()(GREY / 2, strength=0.5), GREY / 2 + 0.5)
    np.testing.assert_allclose(Brightness(darker=True)(GREY, strength=1.0), 0.0)
    flat = Contrast()(COLOUR, strength=1.0)
    np.testing.assert_allclose(
        flat, np.broadcast_to(COLOUR.mean(axis=(1, 2), keepdims=True), COLOUR.shape)
    )
    coarse = Pixelate()(GREY.astype(np.float32), strength=0.5)
    blocks = GREY.reshape(5, 6, 2, 5, 2).mean(axis=(2, 4))
    np.testing.assert_allclose(coarse, blocks.repeat(2, axis=1).repeat(2, axis=2), atol=1e-6)
    assert np.ptp(Pixelate()(GREY, strength=1.0), axis=(1, 2)).max() == 0.0


def test_jpeg_is_the_codec_of_pillow():
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(BYTES[2]).save(buffer, format="JPEG", quality=30)
    with Image.open(buffer) as decoded:
        np.testing.assert_array_equal(JPEG()(BYTES, strength=0.7)[2], np.asarray(decoded))
    with pytest.raises(ValueError, match="alpha"):
        JPEG()(np.zeros((1, 4, 4, 4)), strength=0.5)


@pytest.mark.parametrize(
    ("images", "error", "message"),
    [
        (255 * COLOUR, ValueError, r"pixels from 0.* to 25.*Divide by 255"),
        (2 * COLOUR - 1, ValueError, "Undo the normalisation"),
        (np.moveaxis(COLOUR, -1, 1), ValueError, "Channels come last"),
        (GREY[0], ValueError, "X must be of shape"),
        (GREY[:0], ValueError, "at least one image"),
        (np.where(GREY > 0.9, np.nan, GREY), ValueError, "finite everywhere"),
        (BYTES.astype(np.int64), TypeError, "dtype int64"),
        (BYTES > 3, TypeError, "dtype bool"),
        (GREY.tolist(), TypeError, "Convert it with numpy.asarray"),
        (np.array([["a"]]), TypeError, "uint8"),
    ],
)
def test_bad_images_are_named_with_a_remedy(images, error, message):
    with pytest.raises(error, match=message):
        GaussianNoise()(images, strength=0.1)


def test_a_tensor_is_refused_with_a_remedy():
    import torch

    with pytest.raises(TypeError, match=r"got Tensor\. Convert it"):
        Blur()(torch.zeros(1, 4, 4), strength=1.0)


@pytest.mark.slow
@pytest.mark.realdata
@pytest.mark.parametrize("name", CORRUPTIONS)
def test_real_photographs_and_digits_are_corrupted(name, data_folder):
    from PIL import Image

    stored = np.load(data_folder / "cifar10_jpeg" / "test_10000.npz")
    photographs = np.stack(
        [
            np.asarray(
                Image.open(
                    io.BytesIO(stored["jpeg"][slice(*stored["offsets"][i : i + 2])].tobytes())
                )
            )
            for i in range(64)
        ]
    )
    digits = np.load(data_folder / "mnist_test" / "mnist_t10k.npz")["images"][:64]
    for images in (photographs, digits):
        shifted = CORRUPTIONS[name](images, strength=AMOUNT.get(name, 0.4), rng=0)
        assert shifted.dtype == np.uint8
        means = images.mean(axis=(1, 2)).ravel(), shifted.mean(axis=(1, 2)).ravel()
        if name != "contrast":  # which leaves every mean where it was
            assert (shifted != images).any(axis=tuple(range(1, images.ndim))).all()
        assert np.corrcoef(*means)[0, 1] > 0.7  # still the same pictures, in their order
