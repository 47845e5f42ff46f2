"""Rules from a TOML file: ``[[rule]]`` tables whose keys are the fields of `Rule`."""

from __future__ import annotations

import dataclasses
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shiftmetrics._core.validation import check_keys, describe
from shiftmetrics.tools.rules.rule import Rule

KEYS = tuple(field.name for field in dataclasses.fields(Rule))


def read_rules(
    source: str | os.PathLike[str] | Mapping[str, Any], *, folder: str | os.PathLike[str] | None = None
) -> tuple[Rule, ...]:
    """Read rules from a TOML file, or from what such a file holds.

    Parameters
    ----------
    source : path or mapping
        The file, or ``{"rule": [{...}, ...]}``.
    folder : path, optional
        Where ``baseline`` files are looked up. Default: the folder of the file, or the present one.

    Returns
    -------
    tuple of Rule
        In their order; at least one.

    Raises
    ------
    TypeError, ValueError
        If the file is missing or not TOML, has no rules or something else, a key is unknown, two rules have one name,
        or a rule is not as `Rule` demands. The message names the rule.

    Examples
    --------
    >>> from shiftmetrics.tools.rules import read_rules
    >>> rules = read_rules({"rule": [{"measure": "posterior_agreement", "field": "normalized", "at_least": 0.8}]})
    >>> rules[0].bound_in_words()
    'at least 0.8'
    >>> read_rules({"rule": [{"name": "gate", "atleast": 0.8}]})
    Traceback (most recent call last):
    ...
    ValueError: Rule 'gate' must be a table of known keys, got 'atleast'. Did you mean 'at_least'?
    """
    where = Path() if folder is None else Path(folder)
    if isinstance(source, Mapping):
        document, told = source, "rules"
    else:
        path = Path(source)
        document, told = _read_toml(path), str(path)
        where = path.parent if folder is None else where
    check_keys(map(str, document), told, ["rule"])
    tables = document.get("rule", [])
    if not isinstance(tables, list | tuple) or not all(isinstance(table, Mapping) for table in tables):
        raise ValueError(f"{told} must hold [[rule]] tables, got [rule]. Write the name in two brackets.")
    if not tables:
        raise ValueError(f"{told} must hold at least one [[rule]], got none.")
    rules = tuple(_rule(table, position, where) for position, table in enumerate(tables, start=1))
    names = [rule.name for rule in rules]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ValueError(f"{told} must give each rule a name of its own, got {repeated!r} twice.")
    return rules


def _read_toml(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise ValueError(describe("rules", "an existing TOML file", f"{str(path)!r}, which is not there"))
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(describe("rules", "a TOML file", f"{str(path)!r} ({error})")) from error


def _rule(table: Mapping[str, Any], position: int, folder: Path) -> Rule:
    """Make one rule; its errors tell which one it is."""
    name = table.get("name")
    called = f"Rule {name!r}" if isinstance(name, str) and name else f"Rule {position}"
    check_keys(map(str, table), called, KEYS)
    keys = dict(table)
    if isinstance(keys.get("baseline"), str) and keys["baseline"].strip():
        keys["baseline"] = str(folder / keys["baseline"])
    try:
        return Rule(**keys)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{called}: {error}") from error
