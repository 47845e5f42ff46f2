"""Files to label never replace one."""

import pytest

from shiftmetrics.cli.inputs.decision_tables import check_new_table


def test_only_new_csv_files_are_written(tmp_path):
    check_new_table(tmp_path / "new.csv", "--changed")
    (tmp_path / "old.csv").write_text("id,label\n")
    for name, message in (
        ("new.txt", "must end in .csv"),
        ("old.csv", "exists and may hold labels"),
        ("no/new.csv", "in a folder that exists"),
    ):
        with pytest.raises(ValueError, match=message):
            check_new_table(tmp_path / name, "--changed")
