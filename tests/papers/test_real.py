"""The scripts with the papers' own models and data, on small files of the same layout."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from index import FOLDER
from PIL import Image

torch = pytest.importorskip("torch")
REAL = FOLDER / "real"


def script(name: str) -> ModuleType:
    """Import a script of the folder by its file."""
    spec = importlib.util.spec_from_file_location(f"real_{name}", REAL / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_script_says_what_it_takes_and_stands_in_the_list_of_data() -> None:
    data = (FOLDER / "DATA.md").read_text(encoding="utf-8")
    names = sorted(path.name for path in REAL.glob("[!_]*.py"))
    assert names == ["attacks.py", "novelty.py", "reviews.py", "wilds.py"]
    assert all(f"papers/real/{name}" in data for name in names)


def numbers(output: str, key: str) -> list[str]:
    return [line for line in output.splitlines() if line.startswith("|") and key in line]


# --- attacks ------------------------------------------------------------


def network(folder: Path, name: str, side: int, seed: int) -> Path:
    torch.manual_seed(seed)
    made = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * side * side, 10))
    path = folder / f"{name}.pt"
    torch.jit.save(torch.jit.script(made), str(path))
    return path


@pytest.fixture
def cifar(tmp_path: Path) -> Path:
    """Write twelve pictures as the binary version of CIFAR-10: the class in a byte, then 3,072 of its colours."""
    rng = np.random.default_rng(0)
    records = rng.integers(0, 256, size=(12, 3073), dtype=np.uint8)
    records[:, 0] = np.arange(12) % 10
    folder = tmp_path / "cifar-10-batches-bin"
    folder.mkdir()
    records.tofile(folder / "test_batch.bin")
    return folder


@pytest.mark.parametrize("kind", ["pgd", "fmn"])
def test_attacks_on_networks_of_a_file(
    kind: str, cifar: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, robust = (network(tmp_path, name, 32, seed) for seed, name in enumerate(("a", "b")))
    models = ["--model", f"WRN={plain}", "--model", f"Wang={robust}"]
    script("attacks").main(
        [
            *models,
            "--data",
            str(cifar),
            "--undefended",
            "WRN",
            "--robust",
            "Wang",
            "--attack",
            kind,
            "--powers",
            "8",
            "16",
            "--steps",
            "2",
            "--n",
            "8",
            "--batch-size",
            "5",
            "--weak",
            "WRN",
        ]
    )
    shown = capsys.readouterr().out
    claim = "Agreement tells the robust from the undefended model at every power"
    assert len(numbers(shown, claim)) == 1
    assert "8 pictures of cifar-10-batches-bin" in shown
    assert len(numbers(shown, "| 0 |")) == 3 * (2 if kind == "pgd" else 1)
    assert re.search(r"`a.pt` \([\d,]+ bytes, sha256 [0-9a-f]{64}\)", shown)


def test_attacks_on_pictures_in_class_folders(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Laid out as the validation pictures of ImageNet: a folder for each class, files of any size."""
    rng = np.random.default_rng(0)
    for number, name in enumerate(("n01440764", "n01443537")):
        folder = tmp_path / "val" / name
        folder.mkdir(parents=True)
        for copy in range(2):
            shape = (20 + copy, 24, 3)
            picture = rng.integers(0, 256, size=shape, dtype=np.uint8)
            Image.fromarray(picture).save(folder / f"ILSVRC2012_val_{number}{copy}.JPEG")
    one = network(tmp_path, "one", 16, 0)
    script("attacks").main(
        [
            "--model",
            f"ViT={one}",
            "--model",
            f"Other={one}",
            "--data",
            str(tmp_path / "val"),
            "--undefended",
            "ViT",
            "--robust",
            "Other",
            "--attack",
            "apgd-ce",
            "--powers",
            "2",
            "--steps",
            "2",
            "--size",
            "16",
        ]
    )
    assert "4 pictures of val, apgd-ce" in capsys.readouterr().out


def test_an_unknown_name_and_a_missing_file_are_named(
    cifar: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main = script("attacks").main
    given = ["--data", str(cifar), "--undefended", "WRN", "--robust"]
    with pytest.raises(SystemExit):
        main(["--model", "WRN=no.pt", *given, "Wang"])
    assert "there is no --model Wang=" in capsys.readouterr().err
    with pytest.raises(FileNotFoundError, match=r"TorchScript file 'no.pt'"):
        main(["--model", "WRN=no.pt", *given, "WRN"])


# --- reviews ------------------------------------------------------------


@pytest.fixture
def imdb(tmp_path: Path) -> Path:
    for label, word in (("pos", "wonderful"), ("neg", "dreadful")):
        folder = tmp_path / "aclImdb" / "test" / label
        folder.mkdir(parents=True)
        for number in range(3):
            (folder / f"{number}_7.txt").write_text(f"a {word} film {number}", encoding="utf-8")
    return tmp_path / "aclImdb"


def test_reviews_by_a_function_of_texts(
    imdb: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def read_model(where: str):
        def scores(texts: list[str]) -> np.ndarray:
            good = np.array([text.count("o") - text.count("d") for text in texts], dtype=float)
            return np.stack([-good, good], axis=1)

        return scores

    module = script("reviews")
    monkeypatch.setattr(module, "read_model", read_model)
    module.main(["--model", "distilbert", "--data", str(imdb), "--n", "4"])
    shown = capsys.readouterr().out
    assert len(numbers(shown, "2^")) >= 23
    assert numbers(shown, "Agreement falls with the number of edits.")
    assert "4 reviews, distilbert" in shown


def test_a_distilbert_of_a_folder(imdb: Path, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    folder = tmp_path / "model"
    folder.mkdir()
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "film", "wonderful", "dreadful"]
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    transformers.DistilBertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    sizes = {"vocab_size": len(words), "dim": 8, "hidden_dim": 16, "n_heads": 2, "n_layers": 1}
    config = transformers.DistilBertConfig(num_labels=2, max_position_embeddings=16, **sizes)
    transformers.DistilBertForSequenceClassification(config).save_pretrained(folder)
    found = script("reviews").read_model(str(folder))(["a wonderful film", "a film"], batch_size=1)
    assert found.shape == (2, 2)
    assert np.isfinite(found).all()


# --- WILDS ------------------------------------------------------------


@pytest.mark.slow
def test_early_stopping_on_a_folder_of_waterbirds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    table = []
    for split in (0, 1, 2):
        for y, place, _ in np.ndindex(2, 2, 2):
            name = f"{len(table):03d}.jpg"
            picture = rng.integers(100 * y, 100 * y + 100, size=(12, 12, 3), dtype=np.uint8)
            Image.fromarray(picture).save(tmp_path / name)
            table.append({"img_id": len(table), "img_filename": name, "y": y, "split": split})
            table[-1]["place"] = place
    pd.DataFrame(table).to_csv(tmp_path / "metadata.csv", index=False)
    script("wilds").main(
        ["--task", "waterbirds", "--data", str(tmp_path), "--size", "16", "--epochs", "1"]
    )
    shown = capsys.readouterr().out
    assert numbers(shown, "Agreement selects networks at least as good as accuracy does")
    assert all(numbers(shown, f"| {method} |") for method in ("ERM", "IRM", "LISA"))
    assert "25 files" in shown


def test_rows_that_validate_do_not_train() -> None:
    sources = [(torch.arange(n).reshape(-1, 1), np.repeat([0, 1], n // 2)) for n in (20, 30)]
    held, left = script("wilds").held_out(sources)
    for (x, y), few, others in zip(sources, held, left, strict=True):
        assert len(few[1]) == len(y) // 5
        assert set(few[1].tolist()) == {0, 1}
        assert sorted([*few[0].flatten().tolist(), *others[0].flatten().tolist()]) == list(
            range(len(x))
        )
        for part in (few, others):
            assert (y[part[0].flatten()] == part[1]).all()


# --- novelty ------------------------------------------------------------


def test_novelty_of_folders_and_of_kept_features(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    for name, level in (("dogs", 40), ("cats", 200)):
        (tmp_path / name).mkdir()
        for number in range(12):
            picture = rng.integers(level, level + 40, size=(10, 10, 3), dtype=np.uint8)
            Image.fromarray(picture).save(tmp_path / name / f"{number:02d}.png")
    flat = torch.jit.script(torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()))
    torch.jit.save(flat, str(tmp_path / "inception.pt"))
    np.save(tmp_path / "known.npy", rng.random((12, 3)))
    script("novelty").main(
        [
            "--sample",
            f"AFHQ={tmp_path / 'dogs'}",
            "--sample",
            f"cats={tmp_path / 'cats'}",
            "--reference",
            f"ImageNet={tmp_path / 'known.npy'}",
            "--bandwidth",
            "0.3",
            "--features",
            str(tmp_path / "inception.pt"),
            "--size",
            "8",
            "--n",
            "10",
        ]
    )
    shown = capsys.readouterr().out
    assert len(numbers(shown, "| AFHQ |")) >= 2
    first = next(line for line in shown.splitlines() if line.startswith("| AFHQ |"))
    novel = float(first.split("|")[3])
    assert novel > 0
    assert "`dogs` (12 files" in shown


def test_pictures_without_a_network_are_refused(tmp_path: Path) -> None:
    given = ["--sample", f"AFHQ={tmp_path}", "--bandwidth", "1"]
    with pytest.raises(ValueError, match="give --features"):
        script("novelty").main(given)
