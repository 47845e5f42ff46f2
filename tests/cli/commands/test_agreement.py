import json

import numpy as np
import pandas as pd
import pytest

from shiftmetrics import Resampling, Result
from shiftmetrics.agreement import posterior_agreement


def test_rows_are_matched_by_id_and_columns_by_name(run, folder):
    result = run(
        "agreement", folder / "noisy.csv", folder / "clean.csv", "--id", "image", "--label", "truth"
    )
    assert result.exit_code == 0, result.output
    with np.load(folder / "runs.npz") as arrays:
        expected = posterior_agreement(arrays["noisy"], arrays["clean"])
    assert expected.headline() in result.stdout
    for figure in (f"{expected.value:.4g}", f"{100 * expected.equivalent_error:.3g} %"):
        assert result.stdout.count(f" {figure}") == 1, figure


def test_ids_are_found_and_matter(run, folder):
    options = ["--columns", "cat,dog,eel", "--quiet", "--json", folder / "out.json"]
    values = []
    for matching in (["--id", "image"], [], ["--align", "position"]):
        assert (
            run(
                "agreement", folder / "noisy.csv", folder / "clean.csv", *matching, *options
            ).exit_code
            == 0
        )
        values.append(json.loads((folder / "out.json").read_text())["value"])
    assert values[0] == values[1] > values[2] + 0.1
    said = run("agreement", folder / "noisy.csv", folder / "clean.csv").stdout
    assert said.startswith("Read noisy.csv: id image, classes eel, cat, dog, truth truth.")


def test_json_comes_back_as_the_result(run, folder):
    path = folder / "out.json"
    source = f"{folder / 'runs.npz'}:noisy", f"{folder / 'runs.npz'}:clean"
    assert run("agreement", *source, "--json", path, "--prior", "predicted", "--quiet").stdout == ""
    with np.load(folder / "runs.npz") as arrays:
        expected = posterior_agreement(arrays["noisy"], arrays["clean"], prior="predicted")
    assert Result.from_json(path).equals(expected)
    assert path.with_suffix(".npz").is_file()


@pytest.mark.parametrize("prior", ["0.5,0.25,0.25", "file"])
def test_priors_as_numbers_and_from_a_file(run, folder, prior):
    np.save(folder / "prior.npy", [2.0, 1.0, 1.0])
    given = folder / "prior.npy" if prior == "file" else prior
    source = f"{folder / 'runs.npz'}:noisy", f"{folder / 'runs.npz'}:clean"
    assert run("agreement", *source, "--json", folder / "out.json", "--prior", given).exit_code == 0
    with np.load(folder / "runs.npz") as arrays:
        expected = posterior_agreement(arrays["noisy"], arrays["clean"], prior=[0.5, 0.25, 0.25])
    assert json.loads((folder / "out.json").read_text())["value"] == pytest.approx(expected.value)


def test_weights_come_from_a_column(run, folder):
    frame = pd.read_csv(folder / "noisy.csv")
    weights = np.random.default_rng(1).random(60)
    frame.assign(w=weights).to_csv(folder / "weighted.csv", index=False)
    arguments = [
        folder / "weighted.csv",
        folder / "clean.csv",
        "--id",
        "image",
        "--label",
        "truth",
        "--weight",
        "w",
    ]
    assert run("agreement", *arguments, "--json", folder / "out.json").exit_code == 0
    with np.load(folder / "runs.npz") as arrays:
        expected = posterior_agreement(arrays["noisy"], arrays["clean"], sample_weight=weights)
    assert json.loads((folder / "out.json").read_text())["value"] == pytest.approx(
        expected.value, abs=1e-9
    )


def test_probabilities(run, folder):
    scores = np.random.default_rng(0).normal(size=(40, 3))
    probabilities = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.savez(folder / "p.npz", a=probabilities, b=probabilities[::-1])
    source = f"{folder / 'p.npz'}:a", f"{folder / 'p.npz'}:b"
    named = run("agreement", *source, "-v", "--kind", "probabilities")
    assert named.exit_code == 0
    assert run("agreement", *source, "-v").output == named.output  # recognised
    assert run("agreement", *source, "-v", "--kind", "scores").output != named.output
    assert run("agreement", *source, "--report", folder / "r.html").exit_code == 0


def test_binary_margins_in_one_column(run, folder):
    margins = np.random.default_rng(0).normal(size=50)
    pd.DataFrame({"margin": margins}).to_csv(folder / "a.csv", index=False)
    np.save(folder / "b.npy", margins + 0.1)
    result = run(
        "agreement",
        folder / "a.csv",
        folder / "b.npy",
        "--report",
        folder / "r.html",
        "--json",
        folder / "o.json",
    )
    assert result.exit_code == 0, result.output
    expected = posterior_agreement(margins, margins + 0.1)
    assert json.loads((folder / "o.json").read_text())["value"] == pytest.approx(
        expected.value, abs=1e-9
    )


def test_the_report_names_classes_accuracy_and_the_worst_pairs(run, folder):
    report = folder / "r.html"
    run(
        "agreement",
        folder / "noisy.csv",
        folder / "clean.csv",
        "--id",
        "image",
        "--label",
        "truth",
        "--report",
        report,
    )
    page = report.read_text(encoding="utf-8")
    assert "The pairs that agree least" in page
    assert "image-" in page
    assert "eel (" in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["noisy.csv", "clean.csv", "--id", "picture"],
            "--id picture must name a column of every file, but noisy.csv has 'eel'",
        ),
        (
            ["noisy.csv", "runs.npz:clean", "--id", "image", "--label", "truth"],
            "--id image must name a column of every file, but runs.npz has",
        ),
        (
            ["noisy.csv", "clean.csv", "--id", "image", "--label", "label"],
            "--label label must name a column of the files",
        ),
        (["noisy.csv", "runs.npz:clean"], "--id none: rows go by their place"),
        (["noisy.csv", "clean.csv", "--columns", "cat,cow"], "noisy.csv lacks 'cow'"),
        (["missing.csv", "clean.csv"], "SHIFTED must be an existing file"),
        (
            ["runs.npz:noisy", "runs.npz"],
            "REFERENCE must be a file with one array, got 'runs.npz', which holds 'noisy', 'clean'",
        ),
        (["runs.npz:noisy", "runs.npz:labels"], "Labels have no scores"),
        (["runs.npz:noisy", "points.npz:new"], "'column 2' is only in runs.npz"),
        (
            ["runs.npz:noisy", "points.npz:reference"],
            "all files must have as many, but runs.npz 60 and points.npz 70 rows",
        ),
        (
            ["runs.npz:noisy", "runs.npz:clean", "--prior", "flat"],
            "--prior must be uniform, predicted",
        ),
        (["runs.npz:noisy", "runs.npz:clean", "--prior", "1,x"], "--prior must be uniform"),
        (
            ["runs.npz:noisy", "runs.npz:clean", "--prior", "1,1"],
            "--prior must be of length 3, got length 2",
        ),
        (["runs.npz:noisy", "runs.npz:clean", "--kind", "logits"], "--kind"),
        (
            ["runs.npz:noisy", "runs.npz:clean", "--kind", "probabilities"],
            "SHIFTED must be probabilities",
        ),
        (["runs.npz:noisy"], "Missing argument 'REFERENCE'"),
        (
            ["runs.npz:noisy", "runs.npz:clean", "--json", "no/out.json"],
            "--json must be in a folder that exists",
        ),
        (
            ["runs.npz:noisy", "runs.npz:clean", "--json", "runs.json"],
            "--json runs.json would overwrite SHIFTED, runs.npz. Choose another name.",
        ),
        (["runs.npz:noisy", "runs.npz:clean", "--json", "points.json"], "got 'points.npz'"),
        (
            ["runs.npz:noisy", "runs.npz:clean", "--report", "noisy.csv"],
            "must not end like a data file",
        ),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(fails, folder, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert message in fails(
        "agreement", *arguments, *(["--report", "r.html"] if "--report" not in arguments else [])
    )
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_values_that_are_no_numbers_are_placed(fails, folder):
    frame = pd.read_csv(folder / "noisy.csv")
    frame.loc[7, "cat"] = np.nan
    frame.to_csv(folder / "gap.csv", index=False)
    message = fails(
        "agreement", folder / "gap.csv", folder / "clean.csv", "--id", "image", "--label", "truth"
    )
    assert (
        "gap.csv must have a finite number in each row of its scores, got nan in the column 'cat', row 7"
        in message
    )
    frame["cat"] = "many"
    frame.to_csv(folder / "text.csv", index=False)
    message = fails(
        "agreement", folder / "text.csv", folder / "clean.csv", "--id", "image", "--label", "truth"
    )
    assert "text.csv" in message
    assert "'eel', 'dog'" in message


def test_an_interval_draws_groups_together(run, fails, folder):
    clean, noisy = (
        pd.read_csv(folder / name, index_col="image") for name in ("clean.csv", "noisy.csv")
    )
    scene = noisy.index.str[6:].astype(int) // 3
    noisy.assign(scene=scene).to_csv(folder / "scenes.csv")
    arguments = [
        "agreement",
        folder / "scenes.csv",
        folder / "clean.csv",
        "--id",
        "image",
        "--label",
        "truth",
    ]
    options = ["--confidence-level", 0.9, "--resamples", 60, "--seed", 3, "--groups", "scene"]
    columns = ["cat", "dog", "eel"]
    assert run(*arguments, *options, "--json", folder / "out.json", "-q").exit_code == 0
    written = Result.from_json(folder / "out.json")
    expected = posterior_agreement(
        noisy[columns],
        clean[columns],
        resampling=Resampling(confidence_level=0.9, n_resamples=60, rng=3, groups=scene.to_numpy()),
    )
    assert written.interval.method == expected.interval.method
    assert written.interval.low == pytest.approx(expected.interval.low)
    assert written.interval.high == pytest.approx(expected.interval.high)
    assert "(95 %)" in run(*arguments, "--groups", "scene").stdout
    named = ["--columns", ",".join(columns), "--groups", "place", "--confidence-level", 0.9]
    assert "--groups must name" in fails(*arguments, *named)
    assert "--confidence-level must be" in fails(
        *arguments, "--columns", ",".join(columns), "--confidence-level", 95
    )


@pytest.mark.parametrize("column", ["label", "prediction", "which"])
def test_predicted_classes_without_scores_are_for_diff(fails, folder, column):
    for name, classes in (("before.csv", "abcabc"), ("after.csv", "abcaba")):
        frame = pd.DataFrame({"image": [f"i{k}" for k in range(6)], column: list(classes)})
        frame.to_csv(folder / name, index=False)
    after, before = str(folder / "after.csv"), str(folder / "before.csv")
    assert "`shiftmetrics diff" in fails("agreement", after, before)
