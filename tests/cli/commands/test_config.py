"""Slips in the file of a run are found before anything is computed, and nothing of others is overwritten."""

import pytest

from run_configurations import CONFIG, ONE


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (CONFIG, "", "config.toml must hold at least one measurement, got none. Begin one with [["),
        (CONFIG, "[[agreement]\n", "CONFIG must be a TOML file, got "),
        ("seed = 3", "sed = 3", "config.toml must be a table of known keys, got 'sed'. Did you mean 'seed'?"),
        ("[[novelty]]", "[[novlty]]", "got 'novlty'. Did you mean 'novelty'?"),
        ("[[novelty]]", "[novelty]", "two brackets, [[novelty]]"),
        ("seed = 3", "agreements = 3", "Did you mean 'agreement'?"),
        ("seed = 3", 'seed = "3"', "config.toml: seed must be an integer, got '3'."),
        ("seed = 3", "seed = -1", "config.toml: seed must be an integer at least 0, got -1."),
        ('"The spring release"', "4", "config.toml: title must be a string, got 4."),
        ("seed = 3", 'output = ""', "config.toml: output must be a string, got ''."),
        ("threshold", "treshold", "stability 'patients' must be a table of known keys, got 'treshold'. Did you"),
        ('distances = "distance"\n', "", "stability 'patients': --losses COLUMN or --distances COLUMN"),
        ("threshold = 0.4", 'threshold = "much"', "stability 'patients': Invalid value for '--threshold'"),
        ("threshold = 0.4", "threshold = true", "threshold must be a string or a number"),
        ("curve = true", 'curve = "yes"', "curve must be true or false, got 'yes'."),
        ("curve = true", "divergence = 'l2'", "stability 'patients': Invalid value for '--divergence'"),
        ("curve = true", "json = 'a.json'", "must leave out 'json': all that is measured goes to the output folder."),
        ('name = "noise"\n', "", "config.toml, [[agreement]] 1 must have a name, which is also the name of its file"),
        ('name = "noise"', 'name = "a/b"', "that can name a file, got 'a/b'."),
        ('name = "noise"', 'name = ".."', "that can name a file, got '..'."),
        ('name = "noise"', "name = 1", "that can name a file, got 1."),
        ('name = "noise"', 'name = "Patients"', "measurements of distinct names, got 'patients' twice."),
        ('reference = "clean.csv"\n', "", "agreement 'noise': Missing argument 'REFERENCE'"),
        ("clean.csv", "clear.csv", "agreement 'noise': REFERENCE must be an existing file, got 'clear.csv'"),
        ("clean.csv", "--report", "agreement 'noise': REFERENCE must be an existing file, got '--report'"),
        ('"image"', '"picture"', "agreement 'noise': --id picture must name a column of every file"),
        ("points.npz:new", "points.npz:now", "'images' and no 'now'. Write points.npz:new."),
        ("seed = 3", 'rules = "rules.toml"', "rules must be an existing TOML file, got "),
        ("seed = 3", "rule = 3", "[[rule]]"),
        ("seed = 3", 'output = "noisy.csv"', "The output must be a folder, got the file"),
        ("seed = 3", 'output = "/proc/here"', "The output folder must be one that can be made, got '/proc/here'"),
    ],
)  # fmt: skip
def test_slips_are_found_before_anything_is_computed(
    fails, write, folder, monkeypatch, old, new, message
):
    def computed(*_, **__):
        raise AssertionError("computed")

    monkeypatch.setattr("shiftmetrics.cli.commands.agreement.posterior_agreement", computed)
    assert old in CONFIG
    before = {path.name for path in folder.iterdir()} | {"config.toml"}
    assert message in fails("run", write(CONFIG.replace(old, new, 1)))
    assert {path.name for path in folder.iterdir()} == before


def test_a_file_that_is_missing_or_a_folder(fails, folder):
    assert (
        fails("run", folder / "no.toml")
        == f"CONFIG must be an existing TOML file, got '{folder}/no.toml', which is not there."
    )
    assert "CONFIG must be an existing TOML file, got the folder" in fails("run", folder)
    (folder / "binary.toml").write_bytes(b"\xff\xfe\x00")
    assert "CONFIG must be a TOML file" in fails("run", folder / "binary.toml")


def test_inputs_are_not_overwritten(fails, run, write, folder):
    config = CONFIG.replace('"noise"', '"points"').replace('"points"\ntest', '"other"\ntest')
    assert "points.npz" in fails("run", write('output = "."\n' + config))
    results = """
    [[compare]]
    name = "noise"
    shifted = ["results/noise.json", "results/later.json"]
    """
    assert "SHIFTED must be there, got noise.json, which does not exist." in fails(
        "run", write(results)
    )
    assert run("run", write(ONE)).exit_code == 0
    assert "noise.json would overwrite SHIFTED, noise.json." in fails("run", write(results))


def test_an_earlier_release_is_compared(run, write, folder):
    measured = ONE + "confidence_level = 0.95\n"
    assert run("run", write(measured)).exit_code == 0
    (folder / "results").rename(folder / "before")
    comparison = """
[[compare]]
name = "releases"
shifted = ["new=results/noise.json", "old=before/noise.json"]

[[rule]]
result = "releases"
field = "differences.new-old.difference"
at_least = %s
"""
    assert run("run", write(measured + comparison % -0.02)).exit_code == 0
    assert run("run", write(measured + comparison % 0.02)).exit_code == 1
