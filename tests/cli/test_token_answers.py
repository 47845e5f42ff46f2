"""Logs of log-probabilities as the command ``diff`` takes them."""

import json

import pandas as pd
import pytest

from shiftmetrics.cli.signature import Call
from shiftmetrics.cli.token_answers import are_tokens, token_answer
from shiftmetrics.tables.python import cells_of
from shiftmetrics.tables.register import read_file
from token_examples import TinyModel, given_line, token_log


@pytest.fixture
def paths(tmp_path):
    found = []
    for name, noise in (("old", 0.0), ("new", 0.4)):
        model = TinyModel(noise=noise)
        lines = [given_line(model, f"q{n}", [n, n + 1, n + 2, n + 5], 6) for n in range(30)]
        found.append(token_log(tmp_path / f"{name}.jsonl", lines))
    return found


def test_logs_are_told_from_tables(paths):
    log = read_file(paths[0], "OLD")
    table = cells_of(pd.DataFrame({"id": [1]}), "NEW")
    assert are_tokens([log, table])
    assert not are_tokens([table])
    with pytest.raises(ValueError, match="NEW must be given"):
        token_answer(Call({}, {}, 0, False, {}), [log], ["old.jsonl"], inner=False, changed=None)


def test_the_command_knows_such_logs(run, paths, tmp_path):
    changed = tmp_path / "changed.csv"
    done = run("diff", *paths, "--allow", "0.9", "--changed", changed)
    assert done.exit_code == 0, done.output
    assert "SAFE  The top token is the same at " in done.stdout
    assert len(pd.read_csv(changed)) == 30
    failed = run("diff", *paths, "--allow", "0.001", "--markdown", "-")
    assert failed.exit_code == 1
    assert "## CHANGED: From old.jsonl to new.jsonl" in failed.stdout
    document = json.loads(run("diff", *paths, "--json", "-").stdout)
    assert document["n_samples"] == 90


def test_a_table_beside_a_log_is_refused(fails, paths, tmp_path):
    table = tmp_path / "table.csv"
    pd.DataFrame({"id": range(3), "score": 1.0}).to_csv(table, index=False)
    assert "a log of log-probabilities" in fails("diff", paths[0], table)
