import json

import numpy as np
import pandas as pd
import pytest

from shiftmetrics import Result
from shiftmetrics._core.result import p_words
from shiftmetrics.novelty import kernel_entropic_novelty
from shiftmetrics.tables.encoder import TableEncoder


def shown(page):
    """Return a page with plain spaces."""
    return page.read_text().replace("\N{NO-BREAK SPACE}", " ")


def expected(folder, **options):
    with np.load(folder / "points.npz") as arrays:
        return kernel_entropic_novelty(arrays["new"], arrays["reference"], **options)


def test_columns_match_by_name(run, folder):
    arguments = [
        folder / "new.csv",
        folder / "reference.csv",
        "--label",
        "kind",
        "--bandwidth",
        "1.0",
    ]
    result = run("novelty", *arguments, "--json", folder / "o.json", "--report", folder / "r.html")
    assert result.exit_code == 0, result.output
    stored = json.loads((folder / "o.json").read_text())
    assert stored["value"] == pytest.approx(expected(folder, bandwidth=1.0).value, rel=1e-9)
    columns = pd.read_csv(folder / "reference.csv").columns.drop("kind", errors="ignore")
    assert {part["name"] for part in stored["new"][0]["columns"]} <= set(columns)
    first = stored["new"][0]["columns"][0]["name"]
    assert f"({first} " in result.output.replace("\n", " ")
    page = shown(folder / "r.html")
    assert "Labels of its members: new (100 %)" in page
    assert "Typical values" in page


def test_json_comes_back_as_the_result(run, folder):
    source = f"{folder / 'points.npz'}:new", f"{folder / 'points.npz'}:reference"
    assert run("novelty", *source, "--json", folder / "o.json", "-q", "--seed", "0").exit_code == 0
    assert Result.from_json(folder / "o.json").equals(Result.from_json(expected(folder).to_json()))


def test_options_reach_the_measure(run, folder):
    source = f"{folder / 'points.npz'}:new", f"{folder / 'points.npz'}:reference"
    options = ["--eta", "2", "--bandwidth", "0.7", "--method", "dense", "--json", folder / "o.json"]
    assert run("novelty", *source, *options).exit_code == 0
    wanted = expected(folder, eta=2.0, bandwidth=0.7, method="dense").value
    assert json.loads((folder / "o.json").read_text())["value"] == pytest.approx(wanted, rel=1e-9)
    assert run("novelty", *source, "--kernel", "cosine").exit_code == 0


def test_images_are_features_and_pictures(run, folder):
    rng = np.random.default_rng(0)
    new, known = 0.1 * rng.random(size=(60, 4, 4)), 0.1 * rng.random(size=(60, 4, 4))
    new[:20, :2] += 0.9
    np.savez(folder / "images.npz", new=new, known=known)
    source, report = (
        (f"{folder / 'images.npz'}:{name}" for name in ("new", "known")),
        folder / "r.html",
    )
    result = run("novelty", *source, "--report", report)
    assert result.exit_code == 0, result.output
    assert "images of 4 x 4; its features are their pixels" in result.stdout
    assert report.read_text().count("data:image/png") >= 3


def test_labels_of_the_test_sample_from_a_file(run, folder):
    np.save(folder / "kinds.npy", np.array(["a"] * 40 + ["b"] * 20))
    source = f"{folder / 'points.npz'}:new", f"{folder / 'points.npz'}:reference"
    report = folder / "r.html"
    assert (
        run(
            "novelty",
            *source,
            "--label",
            folder / "kinds.npy",
            "--bandwidth",
            "1",
            "--report",
            report,
        ).exit_code
        == 0
    )
    assert "Labels of its members: b (100 %)" in shown(report)


def test_columns_in_different_units_are_said_and_scaled(run, folder, tmp_path):
    with np.load(folder / "points.npz") as arrays:
        new, reference = arrays["new"], arrays["reference"]
    units = 1000.0 ** np.arange(new.shape[1])
    names = [f"x{i}" for i in range(new.shape[1])]
    for name, rows in (("new", new), ("reference", reference)):
        pd.DataFrame(rows * units, columns=names).to_csv(tmp_path / f"{name}.csv", index=False)
    files = tmp_path / "new.csv", tmp_path / "reference.csv"
    plain = run("novelty", *files)
    assert plain.exit_code == 0, plain.output
    assert "Columns differ in units: each is divided by its spread." in plain.output
    alike = run("novelty", folder / "new.csv", folder / "reference.csv", "--label", "kind")
    assert "divided by its spread" not in alike.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["reference.csv", "reference.csv", "--label", "colour"],
            "--label must name a column of TEST or REFERENCE",
        ),
        (["new.csv", "reference.csv"], "column 'kind'"),
        (["new.csv", "noisy.csv", "--label", "kind"], "must have the same columns"),
        (["points.npz:new", "points.npz:images"], "REFERENCE must be of as many columns"),
        (["distances.npy", "points.npz:reference"], "TEST must be an array of shape (n_samples"),
        (
            ["points.npz:new", "points.npz:reference", "--eta", "0.5"],
            "--eta must be a number at least 1",
        ),
        (
            ["points.npz:new", "points.npz:reference", "--bandwidth", "0"],
            "--bandwidth must be a number greater than 0",
        ),
        (
            ["points.npz:new", "points.npz:reference", "--bandwidth", "wide"],
            "--bandwidth must be auto",
        ),
        (
            ["points.npz:reference", "points.npz:new", "--label", "runs.npz:labels"],
            "got 60 for 70 rows",
        ),
        (["points.npz:new", "points.npz:reference", "--method", "magic"], "'--method'"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(fails, folder, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    assert message in fails("novelty", *arguments, "--json", "o.json", "--report", "r.html")
    assert sorted(folder.iterdir()) == before


def test_text_among_the_features_is_named(fails, folder):
    pd.DataFrame({"x": [1.0, 2.0], "colour": ["red", "blue"]}).to_csv(folder / "t.csv", index=False)
    assert "column 'colour'" in fails("novelty", folder / "t.csv", folder / "reference.csv")


def test_pairs_are_aligned_by_id_and_intervals_are_made(run, folder, tmp_path):
    rng = np.random.default_rng(0)
    before = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    before["id"] = np.arange(60)
    after = before.copy()
    after[["a", "b", "c"]] += 0.1 * rng.normal(size=(60, 3))
    before.to_csv(tmp_path / "before.csv", index=False)
    after.sample(frac=1.0, random_state=0).to_csv(tmp_path / "after.csv", index=False)
    files = tmp_path / "after.csv", tmp_path / "before.csv", "--id", "id", "--bandwidth", "1.5"
    result = run(
        "novelty", *files, "--paired", "--confidence-level", "0.9", "--json", tmp_path / "o.json"
    )
    assert result.exit_code == 0, result.output
    stored = json.loads((tmp_path / "o.json").read_text())
    assert stored["settings"]["resampling"]["paired"] is True
    assert stored["fraction_interval"]["confidence_level"] == 0.9
    assert stored["value"] < 0.2  # partners stand side by side
    before[:50].to_csv(tmp_path / "fewer.csv", index=False)
    refused = run(
        "novelty", tmp_path / "after.csv", tmp_path / "fewer.csv", "--bandwidth", "1.5", "--paired"
    )
    assert refused.exit_code == 2
    assert run("novelty", *files, "--confidence-level", "2").exit_code == 2


def test_tables_with_words_dates_and_gaps_are_encoded(run, tmp_path):
    rng = np.random.default_rng(0)
    tables = []
    for name in ("new", "reference"):
        table = pd.DataFrame(
            {
                "visit_id": np.arange(200) + 1000,
                "age": rng.normal(40, 10, 200).round(),
                "city": rng.choice(["A", "B"], 200),
            }
        )
        if name == "new":
            table.loc[:49, "city"] = "C"
            table.loc[:49, "age"] = 90
        table.loc[60:70, "age"] = np.nan
        table.to_csv(tmp_path / f"{name}.csv", index=False)
        tables.append(table)
    result = run("novelty", tmp_path / "new.csv", tmp_path / "reference.csv")
    assert result.exit_code == 0, result.output
    assert "New: about 2" in result.stdout  # a quarter of the sample
    assert "Took `visit_id` as the id" in result.stdout
    encoder = TableEncoder.fit(tables[1], tables[0])
    expected = kernel_entropic_novelty(
        *(pd.DataFrame(encoder.transform(table), columns=encoder.names) for table in tables)
    )
    assert f"({p_words(expected.p_value)})" in result.stdout
