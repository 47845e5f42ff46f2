"""Logs of evaluations in the formats of the tools that write them, for tests."""

import io
import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any


def lm_eval_line(
    number: int,
    scores: dict[str, Any],
    *,
    chosen: str = "none",
    question: str | None = None,
    temperature: float | None = None,
) -> str:
    """Return one line of a file of samples."""
    asked = question or f"What is {number} plus {number}?"
    arguments: dict[str, Any] = {"arg_0": asked}
    if temperature is not None:
        arguments["arg_1"] = {"temperature": temperature}
    record = {
        "doc_id": number,
        "doc": {"qid": f"add-{number:03}", "passage": f"p{number // 3}", "question": asked},
        "target": str(2 * number),
        "arguments": {"gen_args_0": arguments},
        "resps": [[" 1", " 2", " 3"]],
        "filtered_resps": [" 1"],
        "filter": chosen,
        "metrics": list(scores),
        "doc_hash": f"hash of {asked}",
        "prompt_hash": f"hash of prompt {asked}",
        "target_hash": "t",
        **scores,
    }
    return json.dumps(record)


def lm_eval_file(path: Path, lines: list[str]) -> Path:
    """Write a file of samples."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def inspect_sample(
    name: str, values: dict[str, Any], *, epoch: int = 1, asked: Any = None, error: bool = False
) -> dict[str, Any]:
    """Return one sample."""
    sample: dict[str, Any] = {
        "id": name,
        "epoch": epoch,
        "input": asked or f"What is {name}?",
        "target": "7",
        "scores": {scorer: {"value": value} for scorer, value in values.items()},
        "metadata": {"passage": f"p{len(name)}"},
    }
    if error:
        sample["scores"] = {}
        sample["error"] = {"message": "RuntimeError('backend down')", "traceback": ""}
    return sample


def inspect_log(
    samples: list[dict[str, Any]], *, status: str = "success", n: int = 0
) -> dict[str, Any]:
    """Return a log with a headline of its second scorer."""
    names = list(dict.fromkeys(sample["id"] for sample in samples))
    names += [f"not run {place}" for place in range(n - len(names))]
    scorers = list(dict.fromkeys(scorer for sample in samples for scorer in sample["scores"]))
    lead = scorers[-1] if scorers else ""
    return {
        "version": 2,
        "status": status,
        "eval": {"task": "adds", "dataset": {"name": "adds", "sample_ids": names}, "task_args": {}},
        "results": {"headline": {"score": lead}, "scores": [{"name": lead}]},
        "samples": samples,
    }


def inspect_json(path: Path, log: dict[str, Any]) -> Path:
    """Write a log as JSON."""
    path.write_text(json.dumps(log), encoding="utf-8")
    return path


def inspect_archive(path: Path, log: dict[str, Any], *, has_header: bool = True) -> Path:
    """Write a log as an archive; without a header it is of a run that was stopped."""
    head = {name: part for name, part in log.items() if name != "samples"}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        start = {"version": 2, "eval": log["eval"], "plan": {}}
        archive.writestr("_journal/start.json", json.dumps(start))
        for sample in log["samples"]:
            name = f"samples/{sample['id']}_epoch_{sample['epoch']}.json"
            archive.writestr(name, json.dumps(sample))
        if has_header:
            archive.writestr("header.json", json.dumps(head))
    return path


def zstandard_archive(path: Path, log: dict[str, Any], compress: Any) -> Path:
    """Write an archive with members packed by Zstandard, which zipfile writes from Python 3.14 on."""
    members = {"_journal/start.json": {"version": 2, "eval": log["eval"]}}
    for sample in log["samples"]:
        members[f"samples/{sample['id']}_epoch_{sample['epoch']}.json"] = sample
    members["header.json"] = {name: part for name, part in log.items() if name != "samples"}
    out = io.BytesIO()
    directory = b""
    for name, content in members.items():
        data = json.dumps(content).encode()
        packed = compress(data)
        place = out.tell()
        sizes = struct.pack("<III", zlib.crc32(data), len(packed), len(data))
        common = struct.pack("<HHHHH", 63, 0, 93, 0, 0x21) + sizes
        out.write(
            b"PK\x03\x04" + common + struct.pack("<HH", len(name), 0) + name.encode() + packed
        )
        directory += b"PK\x01\x02" + struct.pack("<H", 63) + common
        directory += struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, place) + name.encode()
    place = out.tell()
    end = struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(directory), place, 0)
    path.write_bytes(out.getvalue() + directory + b"PK\x05\x06" + end)
    return path


def promptfoo_result(
    number: int,
    score: float,
    *,
    provider: str = "old-model",
    place: int | None = None,
    error: bool = False,
) -> dict[str, Any]:
    """Return one result: a success where the score is 1."""
    return {
        "namedScores": {} if error else {"right": score},
        "prompt": {"raw": f"What is {number} plus {number}?", "label": "What is {{a}} plus {{a}}?"},
        "promptIdx": 0,
        "provider": {"label": provider},
        "response": {"error": "backend down"} if error else {"output": "ANSWER"},
        "score": 0 if error else score,
        "success": score == 1 and not error,
        "testIdx": number if place is None else place,
        "vars": {"qid": f"add-{number:03}", "a": number},
        "failureReason": 2 if error else int(score < 1),
    }


def promptfoo_json(path: Path, results: list[dict[str, Any]], *, repeat: int = 1) -> Path:
    """Write a log as JSON."""
    log = {
        "evalId": "eval-abc",
        "results": {"version": 3, "prompts": [], "results": results, "stats": {}},
        "config": {},
        "runtimeOptions": {"repeat": repeat},
    }
    path.write_text(json.dumps(log, indent=1), encoding="utf-8")
    return path
