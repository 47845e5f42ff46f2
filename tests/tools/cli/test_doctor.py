import pytest

from shiftmetrics.tools.cli import doctor


@pytest.fixture
def no_probes(monkeypatch):
    monkeypatch.setattr(doctor, "_probe", lambda code: (True, "cpu"))


def test_it_lists_what_is_installed(run, no_probes):
    result = run("doctor")
    assert result.exit_code == 0, result.output
    for name in ("shiftmetrics", "python", "numpy", "scipy", "torch"):
        assert f"{name}\t" in result.stdout
    assert "No known conflicts" in result.stdout


def test_a_torchvision_that_cannot_be_imported_is_explained(run, monkeypatch):
    versions = {"torchvision": "0.30"}
    monkeypatch.setattr(doctor, "_version", lambda name: versions.get(name, "1.0"))
    monkeypatch.setattr(
        doctor,
        "_probe",
        lambda code: ("torchvision" not in code, "RuntimeError: operator torchvision::nms does not exist"),
    )
    result = run("doctor")
    assert result.exit_code == 0
    assert "Conflict: torchvision 0.30 cannot be imported" in result.stdout
    assert "1 known conflict" in result.stdout


def test_a_missing_requirement_is_an_error(run, monkeypatch, no_probes):
    monkeypatch.setattr(doctor, "_version", lambda name: None if name == "scipy" else "1.0")
    result = run("doctor")
    assert result.exit_code == 2
    assert "shiftmetrics needs scipy" in result.stderr


def test_missing_extras_are_no_error(run, monkeypatch, no_probes):
    monkeypatch.setattr(doctor, "_version", lambda name: None if name in doctor.OPTIONAL else "1.0")
    result = run("doctor")
    assert result.exit_code == 0
    assert "pip install 'shiftmetrics[parquet]'" in result.stdout


def test_probes_run_in_a_process_of_their_own():
    assert doctor._probe("print('fine')") == (True, "fine")
    assert doctor._probe("raise RuntimeError('no')") == (False, "RuntimeError: no")
    assert doctor._probe("import os; os._exit(3)") == (False, "exit code 3")
