"""What `read` says of logs of evaluations."""

import json

import tool_logs


def test_of_logs_the_scores_and_the_questions_are_said(run, fails, tmp_path):
    """The command that compares them is said, and of questions that do not match, how they are named."""
    paths = []
    for name, scores in (("old", [1.0, 0.0, 1.0]), ("new", [1.0, 1.0, 0.0])):
        paths.append(tmp_path / f"{name}.jsonl")
        paths[-1].write_bytes(tool_logs.evalscope(scores))
    result = run("read", *paths)
    assert result.exit_code == 0
    said = " ".join(result.output.split())
    assert "a log of evalscope with 3 questions; scores acc, length" in said
    assert "Fields for --id and --group: about.level." in said
    assert "In both: 3 questions." in said
    assert run("diff", *paths).exit_code == 0
    paths[1].write_bytes(tool_logs.evalscope([1.0, 1.0]))
    message = fails("read", *paths)
    assert "1 in old.jsonl alone" in message
    assert "--inner" in message
    assert "In both: 2 questions." in " ".join(run("read", *paths, "--inner").output.split())
    assert "--save" in fails("read", *paths, "--save", tmp_path / "reading.toml")


def test_failed_answers_and_scores_of_which_less_is_better_are_said(run, tmp_path):
    path = tmp_path / "garak.jsonl"
    path.write_bytes(tool_logs.garak([1.0, 0.0, 1.0]))
    said = " ".join(run("read", path).output.split())
    assert "a log of garak with 3 questions; scores dan.DAN; lower is better for dan.DAN." in said
    assert "In both" not in said
    records = [json.loads(line) for line in tool_logs.evalscope([0.0, 1.0]).splitlines()]
    records[0]["sample_score"]["score"] |= {"status": "judge_unavailable", "value": {}}
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert "1 failed answer;" in " ".join(run("read", path).output.split())
