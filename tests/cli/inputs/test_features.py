"""Folders of images and columns of texts on the command line."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from PIL import Image


@pytest.fixture
def photos(tmp_path):
    """Return two folders of twenty noisy dark images; eight of the new ones are bright."""
    rng = np.random.default_rng(0)
    for place, levels in (("old", [40] * 20), ("new", [40] * 12 + [200] * 8)):
        (tmp_path / place).mkdir()
        for row, level in enumerate(levels):
            pixels = np.clip(rng.normal(level, 10, size=(8, 8, 3)), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(tmp_path / place / f"{row:02d}.png")
    return tmp_path


@pytest.fixture
def reviews(tmp_path):
    """Return two tables of texts; a third of the new ones are of another kind."""
    rng = np.random.default_rng(0)
    words = np.array(["film", "actor", "scene", "plot", "music", "camera"])

    def texts(count):
        return [" ".join(rng.choice(words, 6)) for _ in range(count)]

    robots = [f"robots fight in space {word}" for word in rng.choice(words, 15)]
    pd.DataFrame({"review": texts(30) + robots, "kind": ["old"] * 30 + ["new"] * 15}).to_csv(
        tmp_path / "new.csv", index=False
    )
    pd.DataFrame({"review": texts(45)}).to_csv(tmp_path / "old.csv", index=False)
    return tmp_path


def test_folders_of_images(run, photos):
    ended = run(
        "novelty",
        photos / "new",
        photos / "old",
        "--size",
        "8",
        "--report",
        photos / "r.html",
        "--json",
        photos / "o.json",
    )
    assert ended.exit_code == 0, ended.output
    assert "principal components of the pixels of all images, at 8 x 8" in ended.stdout
    mode = json.loads((photos / "o.json").read_text())["new"][0]
    assert mode["n_members"] == 8
    # 8 of 20 are new; of so few, one that is ordinary may look newest.
    assert re.search(r"New: about 4[0-5] % of the sample, one mode", ended.stdout)
    (headline,) = (line for line in ended.stdout.splitlines() if line.startswith("New: "))
    # the members come first, then the known samples most like them
    shown = set(re.findall(r"\d+\.png", headline.partition("rows ")[2].partition("(")[0]))
    assert shown
    assert shown <= {f"{row}.png" for row in range(12, 20)}
    page = (photos / "r.html").read_text()
    assert 'alt="row 1' in page
    assert page.count("data:image/png") >= 10


def test_texts(run, reviews):
    files = reviews / "new.csv", reviews / "old.csv"
    options = [
        "--text",
        "review",
        "--kernel",
        "cosine",
        "--label",
        "kind",
        "--report",
        reviews / "r.html",
    ]
    ended = run("novelty", *files, *options)
    assert ended.exit_code == 0, ended.output
    assert "frequencies of words (TF-IDF)" in ended.stdout
    page = (reviews / "r.html").read_text().replace("\N{NO-BREAK SPACE}", " ")
    assert "Labels of its members: new (100 %)" in page
    assert "robots fight in space" in page
    np.save(reviews / "kinds.npy", np.array(["a"] * 30 + ["b"] * 15))
    options[5] = reviews / "kinds.npy"
    assert run("novelty", *files, *options).exit_code == 0
    assert "Labels of its members: b (100 %)" in (reviews / "r.html").read_text().replace(
        "\N{NO-BREAK SPACE}", " "
    )


def test_bad_folders_are_named(fails, photos):
    new, old = photos / "new", photos / "old"
    (photos / "empty").mkdir()
    assert "There are no images in" in fails("novelty", new, photos / "empty")
    assert f"There is no folder '{old / '00.png'}'" in fails("novelty", new, old / "00.png")
    assert "--id must be left out for folders of images" in fails(
        "novelty", new, old, "--id", "name"
    )
    assert "--text must be left out for folders of images" in fails(
        "novelty", new, old, "--text", "name"
    )
    (old / "broken.png").write_text("not an image")
    assert "broken.png" in fails("novelty", new, old)


def test_bad_texts_are_named(fails, reviews, folder):
    files = reviews / "new.csv", reviews / "old.csv"
    assert "--text must name a column of TEST, got 'words'" in fails(
        "novelty", *files, "--text", "words"
    )
    assert "--columns must be left out beside --text" in fails(
        "novelty", *files, "--text", "review", "--columns", "kind"
    )
    assert "--size must go with folders of images" in fails(
        "novelty", *files, "--text", "review", "--size", "8"
    )
    numbers = reviews / "numbers.csv"
    pd.DataFrame({"review": [1.0, 2.0]}).to_csv(numbers, index=False)
    assert "column 'review'" in fails("novelty", numbers, files[1], "--text", "review")
    pd.DataFrame({"review": ["good film", None]}).to_csv(numbers, index=False)
    assert "column 'review'" in fails("novelty", numbers, files[1], "--text", "review")
    array = f"{folder / 'points.npz'}:new"
    assert "--text must name a column of TEST" in fails("novelty", array, array, "--text", "review")
