"""Curves from one file for each level of a shift: the numbers of the function, in order, with their chart."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics import Result
from shiftmetrics.agreement import agreement_curves

NAMES = ["cat", "dog", "eel"]


@pytest.fixture
def levels(folder):
    rng = np.random.default_rng(1)
    clean = pd.read_csv(folder / "clean.csv")
    for name, noise in (("strong", 3.0), ("mild", 0.5)):
        frame = clean.copy()
        frame[NAMES] += noise * rng.normal(size=(60, 3))
        frame.sample(frac=1, random_state=2).to_csv(folder / f"{name}.csv", index=False)
    return [f"3={folder / 'strong.csv'}", f"0.5={folder / 'mild.csv'}"]


def test_it_is_said_which_file_was_taken_for_which(run, folder, levels):
    result = run("curves", *levels, "--reference", folder / "clean.csv", "--id", "image")
    printed = "".join(result.output.split())
    for level, name in (("3", "strong.csv"), ("0.5", "mild.csv")):
        assert f"level{level}is{folder / name}".replace(" ", "") in printed
    assert f"setagainst{folder / 'clean.csv'}" in printed


def test_levels_are_put_in_order_and_drawn(run, folder, levels):
    result = run(
        "curves", *levels, "--reference", folder / "clean.csv", "--id", "image", "--label", "truth",
        "--fractions", "0.5,1", "--json", folder / "out.json", "--report", folder / "out.html",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    written = Result.from_json(folder / "out.json")
    assert written.powers == (0.5, 3.0)
    clean = pd.read_csv(folder / "clean.csv", index_col="image")
    tables = {}
    for level, name in ((0.5, "mild"), (3.0, "strong")):
        tables[level] = pd.read_csv(folder / f"{name}.csv", index_col="image")[NAMES]
    labels = clean["truth"].to_numpy()
    expected = agreement_curves(tables, clean[NAMES], ratios=[0.5, 1.0], labels=labels)
    np.testing.assert_allclose(written.agreement.value[:, 1], expected.agreement.value[:, 1])
    np.testing.assert_array_equal(written.afr_t.value[:, 1], expected.afr_t.value[:, 1])
    assert written.afr_p.value[0, 1] > written.afr_p.value[1, 1]
    assert "<figure>" in (folder / "out.html").read_text()


def test_names_are_levels_too_and_mistakes_are_named(run, fails, folder, levels):
    named = [level.split("=")[1] for level in levels]
    options = ["--reference", folder / "clean.csv", "--id", "image", "--columns", ",".join(NAMES)]
    result = run(
        "curves", *named, *options, "--json", folder / "out.json", "--report", folder / "r.html"
    )
    assert result.exit_code == 0, result.output
    assert Result.from_json(folder / "out.json").powers == ("strong.csv", "mild.csv")
    assert ">mild.csv<" in (folder / "r.html").read_text()
    again = [f"1={named[0]}", f"1.0={named[1]}"]
    assert "one file for each level" in fails("curves", *again, *options)
    assert "--fractions must be numbers" in fails("curves", *named, *options, "--fractions", "half")
    assert "ratios" in fails("curves", *named, *options, "--fractions", "0.5,2")
    assert "clear.csv" in fails("curves", *named, "--reference", folder / "clear.csv")
