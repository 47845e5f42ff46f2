"""Image files of a folder."""

import numpy as np
import pytest
from PIL import Image

from shiftmetrics.adapters.images import image_files


def test_images_of_a_folder_are_read_in_order(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, size=(4, 6, 5, 3), dtype=np.uint8)
    (tmp_path / "more").mkdir()
    for row, image in enumerate(images):
        Image.fromarray(image).save(tmp_path / ("more" if row == 3 else "") / f"{row}.png")
    (tmp_path / "notes.txt").write_text("not an image")
    files = image_files(tmp_path)
    assert files.names == ("0.png", "1.png", "2.png", "more/3.png")
    np.testing.assert_array_equal(files.read(), images)
    assert files.read(size=4).shape == (4, 4, 4, 3)


def test_a_folder_without_images_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        image_files(tmp_path / "none")
    with pytest.raises(FileNotFoundError, match="no images in"):
        image_files(tmp_path)
