"""A folder of images, and a cache that is nobody's own."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def images() -> np.ndarray:
    """Return twelve small pictures."""
    return np.random.default_rng(0).integers(0, 256, size=(12, 6, 5, 3), dtype=np.uint8)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """Keep the cache of these tests out of the user's."""
    monkeypatch.setenv("SHIFTMETRICS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def folder(tmp_path, images) -> Path:
    """Return a folder that holds them, two of them in another folder."""
    place = tmp_path / "images"
    (place / "more").mkdir(parents=True)
    for row, image in enumerate(images):
        Image.fromarray(image).save(place / ("more" if row > 9 else "") / f"{row:02d}.png")
    (place / "notes.txt").write_text("not an image")
    return place
