import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics.views.drawings.style import name_rows
from shiftmetrics.views.report.pictures import (
    LARGEST_SIDE,
    inline_figure,
    is_image_batch,
    range_of,
    thumbnail,
)


def decode(markup: str) -> np.ndarray:
    data = re.search(r"base64,([^\"]+)", markup)[1]
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))


def test_pixels_survive():
    image = np.arange(12, dtype=np.uint8).reshape(3, 4) * 20
    np.testing.assert_array_equal(decode(thumbnail(image, value_range=(0, 255), alt="a")), image)


def test_colours_and_single_channels():
    image = np.random.default_rng(0).random((5, 6, 3))
    assert decode(thumbnail(image, value_range=(0, 1), alt="a")).shape == (5, 6, 3)
    assert decode(thumbnail(image[..., :1], value_range=(0, 1), alt="a")).shape == (5, 6)


def test_large_images_shrink_in_proportion():
    picture = decode(thumbnail(np.zeros((200, 400)), value_range=(0, 1), alt="a"))
    assert picture.shape == (LARGEST_SIDE // 2, LARGEST_SIDE)


def test_photographs_are_small_and_keep_their_colours():
    ramp = np.linspace(0, 255, 224)
    photograph = np.stack(np.broadcast_arrays(ramp[:, None], ramp, 128.0), axis=-1).astype(np.uint8)
    markup = thumbnail(photograph, value_range=(0, 255), alt="a")
    shown = decode(markup)
    assert shown.shape == (LARGEST_SIDE, LARGEST_SIDE, 3)
    rows = (np.arange(LARGEST_SIDE) + 0.5) * 255 / LARGEST_SIDE
    assert np.abs(shown[..., 0].mean(axis=1) - rows).max() < 4
    assert np.abs(shown[..., 1].mean(axis=0) - rows).max() < 4
    noise = np.random.default_rng(0).integers(0, 256, size=(224, 224, 3), dtype=np.uint8)
    assert len(thumbnail(noise, value_range=(0, 255), alt="a")) < 6000


def test_values_beyond_the_range_and_missing_ones_are_clipped():
    image = np.array([[-5.0, np.nan], [0.5, 9.0]])
    np.testing.assert_array_equal(
        decode(thumbnail(image, value_range=(0, 1), alt="a")), [[0, 0], [128, 255]]
    )


@pytest.mark.parametrize(
    ("images", "expected"),
    [
        (np.zeros((1, 2, 2), np.uint8), (0, 255)),
        (np.zeros((1, 2, 2), bool), (0, 1)),
        (np.array([0.0, 0.9]), (0, 1)),
        (np.array([0.0, 16.0]), (0, 16)),
        (np.array([-2.0, 1.0]), (-2, 1)),
    ],
)
def test_black_and_white(images, expected):
    assert range_of(images) == expected


def test_a_constant_image_is_no_division_by_zero():
    assert decode(thumbnail(np.full((2, 2), 3.0), value_range=(3.0, 3.0), alt="a")).shape == (2, 2)


@pytest.mark.parametrize(
    ("shape", "is_batch"),
    [((5, 8, 8), True), ((5, 8, 8, 3), True), ((5, 8), False), ((2, 3, 4, 5), False)],
)
def test_batches_of_images_are_known_by_their_shape(shape, is_batch):
    assert is_image_batch(np.zeros(shape)) is is_batch


@pytest.fixture
def bars(monkeypatch):
    """Draw names beside bars in place of a result."""

    def draw(names, ax, *, kind=None):
        places = name_rows(ax, names)
        ax.barh(places, [1.0] * len(names))
        ax.set_title("Some bars", loc="left")
        return ax

    monkeypatch.setattr("shiftmetrics.views.report.pictures.plot", draw)


@pytest.mark.parametrize("n", [3, 30])
def test_names_beside_a_drawing_have_room(n, bars):
    names = [f"feature {place}" for place in range(n)]
    svg = inline_figure(names, None, name="bars", height=2.0)
    width, height = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg).groups())
    # in points: ten for each name, which is what its letters take
    assert width == 288.0
    assert height >= max(144.0, 10.0 * n)


def test_a_drawing_is_not_called_twice_by_one_name(bars):
    svg = inline_figure(["a"], None, name="Some bars", height=2.0)
    assert 'aria-label="Some bars"' in svg


@pytest.fixture
def axis_up_to(monkeypatch):
    """Draw an axis that ends at a number, in place of a result."""

    def draw(high, ax, *, kind=None):
        ax.set_xlim(0.0, high)
        return ax

    monkeypatch.setattr("shiftmetrics.views.report.pictures.plot", draw)


@pytest.mark.filterwarnings("error")
def test_numbers_that_no_axis_shows_are_refused_in_words(axis_up_to):
    expected = (
        "result must hold finite numbers of ordinary size, got Axis limits cannot be NaN or Inf"
    )
    with pytest.raises(ArgumentValueError, match=expected):
        inline_figure(np.inf, None, name="bad.json", height=2.0)


@pytest.mark.filterwarnings("error")
def test_the_largest_numbers_are_drawn_without_words_of_another_library(axis_up_to):
    assert "<svg" in inline_figure(1e308, None, name="large", height=2.0)
