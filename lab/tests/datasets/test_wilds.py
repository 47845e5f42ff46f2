"""WILDS folders: rows, domains and splits as the benchmark defines them."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from shiftmetrics_lab.datasets import load


def write_pictures(folder, names):
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((4, 4, 3), number, np.uint8)).save(folder / name)


@pytest.fixture
def waterbirds(tmp_path):
    folder = tmp_path / "waterbird_complete95_forest2water2"
    names = [f"00{number}.Bird/bird_{number}.png" for number in range(4)]
    write_pictures(folder, names)
    table = pd.DataFrame(
        {
            "img_id": range(4),
            "img_filename": names,
            "y": [0, 1, 1, 0],
            "split": [0, 0, 1, 2],
            "place": [0, 1, 0, 1],
        }
    )
    table.to_csv(folder / "metadata.csv", index=False)
    return tmp_path


def test_waterbirds_by_background(waterbirds):
    data = load("waterbirds", waterbirds)
    assert data.split.tolist() == ["train", "train", "val", "test"]
    on_water = data.where(domain="water")
    assert on_water.y.tolist() == [1, 0]
    np.testing.assert_array_equal(on_water.X.read()[:, 0, 0, 0], [1, 3])


def test_a_wrong_folder_shows_at_once(waterbirds):
    folder = waterbirds / "waterbird_complete95_forest2water2"
    (folder / "000.Bird" / "bird_0.png").unlink()
    with pytest.raises(FileNotFoundError, match=r"bird_0.png', which is missing"):
        load("waterbirds", waterbirds)
    pd.read_csv(folder / "metadata.csv").drop(columns="place").to_csv(
        folder / "metadata.csv", index=False
    )
    with pytest.raises(
        ValueError, match="one with columns img_filename, y, place, split, got one without place"
    ):
        load("waterbirds", waterbirds)
    with pytest.raises(FileNotFoundError, match=r"no 'metadata.csv' in"):
        load("waterbirds", folder / "001.Bird")


def test_any_folder_with_a_table(waterbirds):
    folder = waterbirds / "waterbird_complete95_forest2water2"
    data = load(
        "image_folder",
        folder,
        file="img_filename",
        label="place",
        split="split",
        split_names={0: "a"},
    )
    assert data.class_names == ("0", "1")
    assert data.split.tolist() == ["a", "a", "1", "2"]
    assert data.domain is None


@pytest.fixture
def celeba(tmp_path):
    names = [f"{number:06}.jpg" for number in range(1, 4)]
    write_pictures(tmp_path / "img_align_celeba", names)
    pd.DataFrame(
        {"image_id": names, "Blond_Hair": [-1, 1, 1], "Male": [1, -1, 1], "Young": [1, 1, 1]}
    ).to_csv(tmp_path / "list_attr_celeba.csv", index=False)
    pd.DataFrame({"image_id": names, "partition": [0, 1, 2]}).to_csv(
        tmp_path / "list_eval_partition.csv", index=False
    )
    return tmp_path


def test_celeba_by_label_or_gender(celeba):
    by_label = load("celeba", celeba)
    assert by_label.y.tolist() == by_label.domain.tolist() == [0, 1, 1]
    assert load("celeba", celeba, domain="gender").where(domain="male").y.tolist() == [0, 1]
    assert by_label.where(split="val").X.read().shape == (1, 4, 4, 3)


def test_celeba_refuses(celeba):
    with pytest.raises(ValueError, match="domain must be one of 'label', 'gender'"):
        load("celeba", celeba, domain="age")
    pd.DataFrame({"partition": [0]}).to_csv(celeba / "list_eval_partition.csv")
    with pytest.raises(ValueError, match="must have as many rows, got 3 and 1"):
        load("celeba", celeba)
    (celeba / "list_eval_partition.csv").unlink()
    with pytest.raises(FileNotFoundError, match="no table"):
        load("celeba", celeba)


def test_camelyon17_holds_out_whole_hospitals(tmp_path):
    hospital = [0, 1, 2, 3, 4, 0]
    table = pd.DataFrame(
        {
            "patient": ["004", "020", "040", "060", "096", "004"],
            "node": [4, 4, 1, 3, 0, 4],
            "x_coord": [3328, 1, 2, 3, 4, 5],
            "y_coord": [21792, 1, 2, 3, 4, 5],
            "tumor": [1, 0, 1, 0, 1, 0],
            "slide": range(6),
            "center": hospital,
            "split": [0, 0, 0, 0, 1, 1],
        }
    )
    name = "patches/patient_004_node_4/patch_patient_004_node_4_x_3328_y_21792.png"
    write_pictures(tmp_path, [name])
    table.to_csv(tmp_path / "metadata.csv")
    data = load("camelyon17", tmp_path)
    assert data.X.names[0] == name
    assert data.split.tolist() == ["train", "val", "test", "train", "id_val", "id_val"]
    assert data.domain.tolist() == hospital
    assert data.where(domain="hospital 4").y.tolist() == [1]
