"""Rules are read from TOML, and whatever is wrong with a file is said with the rule it is wrong with."""

import pytest

from shiftmetrics.rules import Rule, read_rules

GOOD = """
[[rule]]
name = "predictions survive noise"
measure = "posterior_agreement"
field = "normalized"
at_least = 0.8
reason = "Agreed in March."

[[rule]]
result = "compare"
field = "differences.new-old.difference"
at_least = -0.02
severity = "warn"
"""


def test_rules_are_read_in_their_order(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text(GOOD)
    first, second = read_rules(str(path))
    expected = Rule(
        name="predictions survive noise", measure="posterior_agreement", field="normalized", at_least=0.8,
        reason="Agreed in March.",
    )  # fmt: skip
    assert first.equals(expected)
    assert (second.field, second.severity) == ("differences.new-old.difference", "warn")


def test_a_mapping_is_what_a_file_holds():
    (rule,) = read_rules({"rule": [{"measure": "novelty", "at_most": 1}]})
    assert rule.equals(Rule(measure="novelty", at_most=1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must hold at least one"),
        ("rule = []", "must hold at least one"),
        ("[rule]\nat_least = 1", "Write the name in two brackets"),
        ("rule = 3", "Write the name in two brackets"),
        ("[[rules]]\nat_least = 1", "got 'rules'. Did you mean 'rule'"),
        ("at_least = 1", "must be a table of known keys, got 'at_least'"),
        ("[[rule]\n", "rules must be a TOML file"),
        (
            "[[rule]]\nname = 'gate'\natleast = 1",
            r"rules.toml: Rule 1 \('gate'\) .* got 'atleast'. Did you mean 'at_least'",
        ),
        (
            "[[rule]]\nat_least = 1\n[[rule]]\nat_mots = 1",
            "Rule 2 .* got 'at_mots'. Did you mean 'at_most'",
        ),
        (
            "[[rule]]\nname = 'gate'",
            r"Rule 1 \('gate'\): The bound of a rule must be at_least",
        ),
        ("[[rule]]\nat_least = nan", "Rule 1: at_least must be a number"),
        ("[[rule]]\nat_least = '1'", "Rule 1: at_least must be a real number"),
        ("[[rule]]\nname = 3\nat_least = 1", "Rule 1: name must be a string"),
        (
            "[[rule]]\nbaseline = 'old.json'\nat_least = 1",
            "Rule 1 must be a table of known keys, got 'baseline'",
        ),
        (
            "[[rule]]\nat_least = 1\n[[rule]]\nat_least = 1",
            "rules of distinct names, got 'every result: at least 1'",
        ),
    ],
)
def test_a_bad_file_is_refused(text, message, tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text(text)
    with pytest.raises((TypeError, ValueError), match=message):
        read_rules(path)


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(ValueError, match="existing TOML file, got .*nothing.toml"):
        read_rules(tmp_path / "nothing.toml")
    with pytest.raises(ValueError, match="existing TOML file"):
        read_rules(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"[[rule]]\nname = '\xe9'\nat_least = 1")
    with pytest.raises(ValueError, match="must be a TOML file"):
        read_rules(tmp_path / "latin.toml")


def test_the_mark_that_windows_editors_put_first_is_no_rule(tmp_path):
    marked, plain = tmp_path / "marked.toml", tmp_path / "plain.toml"
    marked.write_text(GOOD, encoding="utf-8-sig")
    plain.write_text(GOOD, encoding="utf-8")
    assert [rule.name for rule in read_rules(marked)] == [rule.name for rule in read_rules(plain)]
