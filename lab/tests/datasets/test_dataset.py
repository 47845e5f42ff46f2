"""Rows stay together whatever is taken of a data set."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from shiftmetrics.adapters.images import ImageFiles
from shiftmetrics_lab.datasets.dataset import Dataset

Y = np.array([0, 1, 0, 1, 1])


def data(X):
    return Dataset(
        name="toy",
        X=X,
        y=Y,
        domain=np.array([0, 0, 1, 1, 1]),
        split=np.array(["train", "test", "train", "train", "test"]),
        class_names=("no", "yes"),
        domain_names=("a", "b"),
    )


@pytest.mark.parametrize(
    "X",
    [
        np.arange(5.0)[:, None],
        pd.DataFrame({"x": np.arange(5.0)}, index=list("vwxyz")),
        ["t0", "t1", "t2", "t3", "t4"],
        ImageFiles("folder", ["0.png", "1.png", "2.png", "3.png", "4.png"]),
    ],
    ids=["array", "table", "texts", "images"],
)
def test_where_keeps_rows_together(X):
    part = data(X).where(split="train", domain="b")
    assert len(part) == 2
    kept = {
        "ndarray": lambda: part.X[:, 0].tolist() == [2.0, 3.0],
        "DataFrame": lambda: part.X.index.tolist() == ["x", "y"],
        "list": lambda: part.X == ["t2", "t3"],
        "ImageFiles": lambda: part.X.names == ("2.png", "3.png"),
    }
    assert kept[type(X).__name__]()
    np.testing.assert_array_equal(part.y, [0, 1])
    np.testing.assert_array_equal(part.domain, [1, 1])


def test_where_by_number_equals_where_by_name():
    for number, name in ((0, "no"), (1, "yes")):
        assert data(Y).where(label=number).X.tolist() == data(Y).where(label=name).X.tolist()


def test_repr_says_what_is_there():
    assert repr(data(Y)) == "Dataset(toy: 5 rows; 2 classes; 2 domains; splits test, train)"


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        ({"label": "maybe"}, "label must be one of no, yes, got 'maybe'"),
        ({"domain": 7}, "domain must be one of a, b, got 7"),
        ({"split": "val"}, "split must be one of test, train, got 'val'"),
    ],
)
def test_where_refuses_what_is_not_there(selection, message):
    with pytest.raises(ValueError, match=message):
        data(Y).where(**selection)


def test_parts_must_be_as_long_as_X():
    with pytest.raises(ValueError, match="y must be of length 3, as X, got length 2"):
        Dataset(name="toy", X=np.zeros(3), y=np.zeros(2, dtype=int))
    with pytest.raises(ValueError, match="domain must be left out: toy has none"):
        Dataset(name="toy", X=np.zeros(2), y=np.zeros(2, dtype=int)).where(domain=0)


def write_images(folder, sizes):
    for number, size in enumerate(sizes):
        Image.fromarray(np.full((size, size), 40 * number, dtype=np.uint8)).save(
            folder / f"{number}.png"
        )
    return ImageFiles(folder, [f"{number}.png" for number in range(len(sizes))])


def test_images_are_read_as_rgb(tmp_path):
    images = write_images(tmp_path, [4, 4, 4])
    assert images.read().shape == (3, 4, 4, 3)
    np.testing.assert_array_equal(
        images.read(np.array([False, True, True]))[:, 0, 0], [[40] * 3, [80] * 3]
    )
    assert images.read([], size=4).shape == (0, 4, 4, 3)


def test_sixteen_bits_a_pixel_keep_their_greys(tmp_path):
    greys = np.arange(16, dtype=np.uint16).reshape(4, 4) * 4369
    Image.fromarray(greys).save(tmp_path / "deep.png")
    Image.fromarray(greys.astype(np.float32)).save(tmp_path / "float.tiff")
    images = ImageFiles(tmp_path, ["deep.png", "float.tiff"])
    np.testing.assert_array_equal(images.read([0])[0, :, :, 1], greys >> 8)
    with pytest.raises(ValueError, match=r"float\.tiff' must have 8 or 16 bits a pixel, got 32"):
        images.read([1])


def test_images_of_several_sizes_are_resized_or_refused(tmp_path):
    images = write_images(tmp_path, [4, 6])
    with pytest.raises(
        ValueError, match=r"must have one size, got \[\(4, 4, 3\), \(6, 6, 3\)\]. Pass size="
    ):
        images.read()
    assert images.read(size=5).shape == (2, 5, 5, 3)


def test_missing_and_damaged_images_are_named(tmp_path):
    images = write_images(tmp_path, [4, 4])
    (tmp_path / "0.png").write_bytes((tmp_path / "0.png").read_bytes()[:40])
    (tmp_path / "1.png").unlink()
    with pytest.raises(ValueError, match=r"0\.png' must be an image"):
        images.read([0])
    with pytest.raises(FileNotFoundError, match=r"1\.png' is listed but missing"):
        images.read([1])
