"""The rules printed in the documentation are rules."""

import re
from pathlib import Path

import pytest

from shiftmetrics.rules import read_rules

PAGE = Path(__file__).resolve().parents[2] / "docs" / "gates.md"
BLOCKS = re.findall(
    r"^```toml\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
)


@pytest.mark.parametrize("position", range(len(BLOCKS)))
def test_every_block_is_a_file_of_rules(position, tmp_path):
    (tmp_path / "rules.toml").write_text(BLOCKS[position], encoding="utf-8")
    assert len(read_rules(tmp_path / "rules.toml")) == BLOCKS[position].count("[[rule]]")


def test_every_key_is_explained():
    from shiftmetrics.rules.rule import KEYS

    table = PAGE.read_text(encoding="utf-8").partition("## What a rule says")[2].partition("##")[0]
    assert set(KEYS) <= set(re.findall(r"`(\w+)`", table))
