import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.cli.inputs.samples import (
    align_samples,
    read_sample,
    same_labels,
    shared,
    split_names,
)

RNG = np.random.default_rng(0)
SCORES = pd.DataFrame(RNG.normal(size=(6, 3)), columns=["cat", "dog", "eel"])


def write(folder: Path, name: str, frame: pd.DataFrame, **options) -> str:
    frame.to_csv(folder / name, index=False, **options)
    return str(folder / name)


def test_ids_labels_and_weights_are_taken_out_of_the_scores(tmp_path):
    frame = SCORES.assign(image=list("fedcba"), truth=[0, 1, 2, 0, 1, 2], w=1.5)
    sample = read_sample(
        write(tmp_path, "s.csv", frame),
        "SHIFTED",
        role="scores",
        id_column="image",
        label="truth",
        weight="w",
    )
    np.testing.assert_allclose(sample.numbers(), SCORES)
    assert sample.columns == ["cat", "dog", "eel"]
    assert sample.ids == list("fedcba")
    assert sample.label.tolist() == [0, 1, 2, 0, 1, 2]
    assert sample.weight.tolist() == [1.5] * 6


def test_named_columns_come_in_the_order_they_are_named(tmp_path):
    sample = read_sample(
        write(tmp_path, "s.csv", SCORES), "SHIFTED", role="scores", columns="eel, cat"
    )
    np.testing.assert_allclose(sample.numbers(), SCORES[["eel", "cat"]])


def test_names_split_as_in_csv():
    assert split_names('a, "b,c",d') == ["a", "b,c", "d"]


@pytest.mark.parametrize(
    ("column", "values", "role", "message"),
    [
        (
            "id",
            RNG.normal(size=6),
            "scores",
            "'id', which looks like a row id. Say so with --id id",
        ),
        ("Image_ID", list("abcdee"), "features", "looks like a label"),
        ("Unnamed: 0", [0, 1, 2, 3, 4, 4], "features", "--id 'Unnamed: 0'"),
        ("Target", RNG.normal(size=6), "features", "looks like a label"),
        ("sample_weight", RNG.normal(size=6), "scores", "looks like a weight"),
        ("n", [3, 1, 2, 5, 4, 6], "features", "'n', which looks like a row id"),
        ("serial", [30, 11, 2, 55, 44, 6], "scores", "'serial', which looks like a row id"),
        ("answer", [0, 1, 2, 0, 1, 2], "scores", "'answer', which looks like a label"),
    ],
)
def test_columns_that_are_no_scores_are_caught(tmp_path, column, values, role, message):
    path = write(tmp_path, "s.csv", SCORES.assign(**{column: values}))
    with pytest.raises(ValueError, match=message):
        read_sample(path, "SHIFTED", role=role)


@pytest.mark.parametrize(
    ("column", "values", "what"),
    [
        ("Image_ID", list("abcdef"), "id"),
        ("photo", ["p1", "p2", "p3", "p4", "p5", "p6"], "id"),
        ("Unnamed: 0", range(6), "id"),
        ("label", [0, 1, 0, 1, 0, 1], "label"),
        ("truth", [0, 1, 2, np.nan, 1, 2], "label"),
    ],
)
def test_ids_and_labels_are_found_by_name_and_said(tmp_path, column, values, what):
    path = write(tmp_path, "s.csv", SCORES.assign(**{column: values}))
    sample = read_sample(path, "SHIFTED", role="scores")
    np.testing.assert_allclose(sample.numbers(), SCORES)
    assert sample.notes == [f"Took {column} as the {what}."]
    assert getattr(sample, {"id": "ids"}.get(what, what)) is not None
    chosen = read_sample(path, "SHIFTED", role="scores", columns="eel,cat")
    assert (chosen.columns, chosen.label) == (["eel", "cat"], None)
    assert chosen.ids == sample.ids


@pytest.mark.parametrize(
    ("column", "values", "role"),
    [
        ("age", [30, 11, 2, 55, 44, 6], "features"),
        ("votes", [3, 0, 2, 2, 2, 0], "features"),
        ("fox", RNG.normal(size=6), "scores"),
    ],
)
def test_other_columns_pass(tmp_path, column, values, role):
    path = write(tmp_path, "s.csv", SCORES.assign(**{column: values}))
    assert read_sample(path, "TEST", role=role).numbers().shape == (6, 4)


def test_columns_that_are_named_are_taken_at_their_word(tmp_path):
    path = write(tmp_path, "s.csv", SCORES.assign(id=RNG.normal(size=6)))
    assert read_sample(path, "SHIFTED", role="scores", columns="id,cat").columns == ["id", "cat"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"columns": "cat,cow"},
            "--columns must name a column of SHIFTED, got 'cow'; it has 'cat', 'dog', 'eel'",
        ),
        ({"id_column": "name"}, "--id must name a column of SHIFTED, got 'name'"),
    ],
)
def test_columns_that_are_not_there_are_named(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        read_sample(write(tmp_path, "s.csv", SCORES), "SHIFTED", role="scores", **options)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a", "b", "c", "d", "e", "6"], "'colour', which looks like a row id"),
        (list("rgbrgb"), "'colour', which looks like a label"),
    ],
)
def test_text_among_the_scores_is_caught(tmp_path, values, message):
    with pytest.raises(ValueError, match=message):
        read_sample(
            write(tmp_path, "s.csv", SCORES.assign(colour=values)), "SHIFTED", role="scores"
        )


def test_a_slip_among_numbers_is_named(tmp_path):
    path = write(tmp_path, "s.csv", SCORES.assign(fox=["1.5", "2.5", "oops", "1", "2", "3"]))
    with pytest.raises(ValueError, match="got 'oops' in column 'fox', row 2"):
        read_sample(path, "SHIFTED", role="scores").numbers()


def test_rows_match_by_id_and_columns_by_name(tmp_path):
    frame = SCORES.assign(image=list("abcdef"), truth=range(6))
    other = frame.sample(frac=1, random_state=1)[["truth", "eel", "image", "cat", "dog"]]
    options = {"role": "scores", "id_column": "image", "label": "truth"}
    first = read_sample(write(tmp_path, "s.csv", frame), "SHIFTED", **options)
    second = read_sample(write(tmp_path, "r.csv", other), "REFERENCE", **options)
    align_samples(first, second, align="labels", rows=True)
    np.testing.assert_allclose(first.numbers(), second.numbers())
    assert same_labels(first, second, "truth").tolist() == list(range(6))


def test_ids_on_one_side_only_are_refused(tmp_path):
    frame = SCORES.assign(image=list("abcdef"))
    np.save(tmp_path / "r.npy", SCORES.to_numpy())
    first = read_sample(
        write(tmp_path, "s.csv", frame), "SHIFTED", role="scores", id_column="image"
    )
    second = read_sample(str(tmp_path / "r.npy"), "REFERENCE", role="scores")
    with pytest.raises(ValueError, match="--id must name a column of both files"):
        align_samples(first, second, align="labels", rows=True)
    align_samples(first, second, align="position", rows=True)
    np.testing.assert_allclose(first.numbers(), second.numbers())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda f: f.rename(columns={"eel": "emu"}),
            "same columns, got only in SHIFTED: 'eel'; only in REFERENCE: 'emu'",
        ),
        (
            lambda f: f.assign(image=list("abcdex")),
            "same rows, got only in SHIFTED: 'f'; only in REFERENCE: 'x'",
        ),
        (lambda f: f.assign(image=list("aacdef")), "distinct labels, got repeated 'a'"),
        (lambda f: f.iloc[:4], "only in SHIFTED: 'e', 'f'"),
    ],
)
def test_differences_are_listed(tmp_path, change, message):
    frame = SCORES.assign(image=list("abcdef"))
    options = {"role": "scores", "id_column": "image"}
    first = read_sample(write(tmp_path, "s.csv", frame), "SHIFTED", **options)
    second = read_sample(write(tmp_path, "r.csv", change(frame)), "REFERENCE", **options)
    with pytest.raises(ValueError, match=message):
        align_samples(first, second, align="labels", rows=True)


def test_unequal_lengths_without_ids_say_how_to_match(tmp_path):
    first = read_sample(write(tmp_path, "s.csv", SCORES), "SHIFTED", role="scores")
    second = read_sample(write(tmp_path, "r.csv", SCORES.iloc[:4]), "REFERENCE", role="scores")
    with pytest.raises(ValueError, match="got 6 and 4. Name the id column with --id"):
        align_samples(first, second, align="labels", rows=True)


def test_paired_labels_that_differ_reveal_rows_in_another_order(tmp_path):
    frame = SCORES.assign(truth=[0, 1, 2, 0, 1, 2])
    options = {"role": "scores", "label": "truth"}
    first = read_sample(write(tmp_path, "s.csv", frame), "SHIFTED", **options)
    second = read_sample(write(tmp_path, "r.csv", frame.iloc[::-1]), "REFERENCE", **options)
    with pytest.raises(
        ValueError, match="--label must agree in paired rows, but 4 of 6 rows differ"
    ):
        same_labels(first, second, "truth")


def test_labels_may_come_from_a_file(tmp_path):
    np.savez(tmp_path / "s.npz", scores=SCORES.to_numpy(), truth=np.arange(6))
    label = f"{tmp_path / 's.npz'}:truth"
    sample = read_sample(f"{tmp_path / 's.npz'}:scores", "SHIFTED", role="scores", label=label)
    assert sample.label.tolist() == list(range(6))
    shared("--label", label, sample)
    np.save(tmp_path / "short.npy", np.arange(5))
    sample = read_sample(
        f"{tmp_path / 's.npz'}:scores", "SHIFTED", role="scores", label=str(tmp_path / "short.npy")
    )
    with pytest.raises(
        ValueError, match="--label must have a value for each row of SHIFTED, got 5 for 6 rows"
    ):
        shared("--label", "short.npy", sample)
    with pytest.raises(ValueError, match="--label must be a file here"):
        read_sample(f"{tmp_path / 's.npz'}:scores", "SHIFTED", role="scores", label="truth")


def test_labels_of_a_file_of_ids_are_brought_into_the_order_of_the_rows(run, fails, folder):
    table = pd.read_csv(folder / "noisy.csv")
    names = np.array(["cat", "dog", "eel"])[table["truth"]]
    labels = pd.DataFrame({"image": table["image"], "kind": names}).sample(frac=1, random_state=1)
    labels.to_csv(folder / "labels.csv", index=False)
    for name in ("noisy", "clean"):
        frame = pd.read_csv(folder / f"{name}.csv").drop(columns="truth")
        frame.assign(
            truth=np.array(["cat", "dog", "eel"])[pd.read_csv(folder / f"{name}.csv")["truth"]]
        ).to_csv(folder / f"{name}_words.csv", index=False)
    command = [
        "compare",
        f"a={folder / 'noisy_words.csv'}",
        f"b={folder / 'clean_words.csv'}",
        "--id",
        "image",
    ]
    within = run(*command, "--label", "truth")
    beside = run(*command, "--label", folder / "labels.csv", "--columns", "cat,dog,eel")
    assert within.exit_code == beside.exit_code == 0, within.output + beside.output
    assert within.stdout.splitlines()[0] == beside.stdout.splitlines()[0]
    labels.iloc[:-3].to_csv(folder / "labels.csv", index=False)
    message = fails(*command, "--label", folder / "labels.csv", "--columns", "cat,dog,eel")
    assert "--label must be a file with a value for each row, got none for 3 of 60" in message


def test_numbered_columns_are_the_classes_of_numbered_labels(run, folder):
    for name in ("noisy", "clean"):
        frame = pd.read_csv(folder / f"{name}.csv").sort_values("image")
        numbered = frame.rename(columns={"cat": "p1", "dog": "p2", "eel": "p3"})
        # no row of the third class, so that places from 0 would be read as well
        numbered = numbered[numbered["truth"] < 2].assign(truth=numbered["truth"] + 1)
        numbered.to_csv(folder / f"{name}_numbered.csv", index=False)
    files = [f"{name}={folder / name}_numbered.csv" for name in ("noisy", "clean")]
    result = run(
        "compare", *files, "--id", "image", "--label", "truth", "--json", folder / "c.json"
    )
    assert result.exit_code == 0, result.output
    clean = pd.read_csv(folder / "clean_numbered.csv")
    right = (clean[["p1", "p2", "p3"]].to_numpy().argmax(axis=1) + 1 == clean["truth"]).mean()
    assert right > 0.8
    document = json.loads((folder / "c.json").read_text())
    accuracy = next(m for m in document["models"] if m["name"] == "clean")["secondary_metrics"][
        "accuracy"
    ]
    assert accuracy == pytest.approx(right)
