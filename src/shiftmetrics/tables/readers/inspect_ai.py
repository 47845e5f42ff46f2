"""Logs of inspect_ai: ``.json``, and ``.eval``, an archive of one JSON file for each sample."""

from __future__ import annotations

import json
import re
import struct
import zipfile
from collections.abc import Iterable
from typing import Any, BinaryIO

from shiftmetrics._core.validation import needs
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.content import Content, Reader
from shiftmetrics.tables.logs import (
    DIGEST,
    FAILED,
    QUESTION,
    REPEAT,
    TASK,
    LogRows,
    collector_paused,
    column_of_score,
    digest_of_question,
    left_out,
    number_of,
    plain_fields,
)
from shiftmetrics.tables.readers.packed import is_zip

TOOL = "inspect_ai"

ZSTANDARD = 93
"""The number of this compression in a zip archive."""

_JSON = re.compile(rb'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:\s*"\w+"\s*,\s*"eval"\s*:')
_MEMBER = re.compile(rb"(_journal/|samples/.+_epoch_\d+\.json)")

GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""Correct, incorrect, partially correct, and no answer: as the tool counts them."""

WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}

SETTINGS = ("task_version", "task_args", "model_generate_config", "model_args", "scorers")


def _is_json_log(content: Content) -> bool:
    return _JSON.match(content.head.removeprefix(b"\xef\xbb\xbf")) is not None


@collector_paused()
def _read_json(content: Content) -> Cells:
    content.check_size(4 * content.size)
    log = _parsed(content, content.read())
    samples = log.get("samples")
    if not samples:
        raise _without_samples(content, str(log.get("status")))
    return _cells(content, log, samples)


def _parsed(content: Content, data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        remedy = "Write it anew: it may be truncated or damaged."
        raise content.refusal(f"a log of {TOOL}", "which cannot be read", remedy) from error


def _without_samples(content: Content, status: str) -> Exception:
    remedy = "Log the samples: leave out --no-log-samples, or read the whole log, not its header."
    return content.refusal(
        f"a log of {TOOL} with samples", f"which holds none (status {status})", remedy
    )


def _is_archive(content: Content) -> bool:
    if not is_zip(content):
        return False
    with content.open() as file:
        try:
            names = zipfile.ZipFile(file).namelist()
        except zipfile.BadZipFile:
            return _MEMBER.search(content.head) is not None
    return any(name.startswith("_journal/") for name in names) or "header.json" in names


@collector_paused()
def _read_archive(content: Content) -> Cells:
    with content.open() as file:
        try:
            archive = zipfile.ZipFile(file)
        except zipfile.BadZipFile as error:
            remedy = "The run was cut off while it wrote: let the tool recover the log."
            raise content.refusal(
                f"a log of {TOOL}", "an archive without its end", remedy
            ) from error
        members = {member.filename: member for member in archive.infolist()}
        content.check_size(4.0 * sum(member.file_size for member in members.values()))
        # A run that was stopped has no header; its journal says how it began.
        head: dict[str, Any] = {"status": "started"}
        for name in ("_journal/start.json", "header.json"):
            if name in members:
                head |= _parsed(content, _member(content, file, archive, members[name]))
        samples = []
        for name, member in members.items():
            if name.startswith("samples/") and name.endswith(".json"):
                samples.append(_parsed(content, _member(content, file, archive, member)))
    if not samples:
        raise _without_samples(content, str(head.get("status")))
    return _cells(content, head, samples)


def _member(
    content: Content, file: BinaryIO, archive: zipfile.ZipFile, member: zipfile.ZipInfo
) -> bytes:
    """Return the bytes of a member; Python below 3.14 unpacks no Zstandard."""
    if member.compress_type != ZSTANDARD:
        return archive.read(member)
    # The data begin behind the local header, whose extra bytes may be others than those that the directory of the
    # archive states.
    file.seek(member.header_offset)
    local = file.read(30)
    n_name, n_extra = struct.unpack("<HH", local[26:30])
    file.seek(n_name + n_extra, 1)
    packed = file.read(member.compress_size)
    return _unpacked(packed, member.file_size)


def _unpacked(packed: bytes, size: int) -> bytes:
    try:
        from compression import zstd  # type: ignore[import-not-found]
    except ImportError:
        pass
    else:
        return bytes(zstd.decompress(packed))
    try:
        import zstandard
    except ImportError:
        pass
    else:
        return bytes(zstandard.ZstdDecompressor().decompressobj().decompress(packed))
    command = "'shiftmetrics[parquet]', or write the log as json: inspect log convert --to json"
    with needs("A log packed by Zstandard", "pyarrow", command):
        import pyarrow as pa
    return bytes(pa.decompress(packed, size, codec="zstd", asbytes=True))


def _cells(content: Content, log: dict[str, Any], samples: Iterable[dict[str, Any]]) -> Cells:
    run = log.get("eval") or {}
    task = str(run.get("task", ""))
    scores: dict[str, None] = {}
    no_numbers: set[str] = set()
    rows = []
    for sample in samples:
        row: dict[str, Any] = {
            TASK: task,
            QUESTION: str(sample.get("id")),
            DIGEST: digest_of_question(_asked(sample.get("input")), sample.get("target")),
            REPEAT: int(sample.get("epoch") or 1),
            # An error in place of an answer is no wrong answer, even where a scorer went on.
            FAILED: sample.get("error") is not None,
        }
        row |= plain_fields(sample.get("metadata"), "metadata")
        for name, score in (sample.get("scores") or {}).items():
            value = score.get("value") if isinstance(score, dict) else score
            for full_name, part in _parts(name, value).items():
                number = _grade(part)
                if number is None:
                    no_numbers.add(full_name)
                    continue
                scores[full_name] = None
                row[column_of_score(full_name)] = number
        rows.append(row)
    found = LogRows()
    for row in rows:
        found.add(row)
    kept = [name for name in scores if name not in no_numbers]
    lead = _lead(log)
    kept.sort(key=lambda name: name != lead)
    n_epochs = len({row[REPEAT] for row in rows})
    # A single epoch is no repeat.
    if kept and n_epochs == 1:
        del found.columns[REPEAT]
    if not kept and all(row[FAILED] for row in rows):
        raise content.refusal(
            f"a log of {TOOL} with answers",
            f"in which all {len(rows):,} samples failed (status {log.get('status')})",
            "Run it again.",
        )
    return found.cells(
        content,
        tool=TOOL,
        scores=[column_of_score(name) for name in kept],
        notes=left_out(sorted(no_numbers)),
        settings=_settings(run),
        says_repeats=n_epochs > 1,
        warnings=_stopped(content, log, run, rows),
    )


def _asked(question: Any) -> Any:
    """Return the question: messages have ids of their own in each run, which say nothing."""
    if isinstance(question, list):
        kept = []
        for message in question:
            if isinstance(message, dict):
                kept.append({"role": message.get("role"), "content": message.get("content")})
            else:
                kept.append(message)
        return kept
    return question


def _parts(name: str, value: Any) -> dict[str, Any]:
    """Return the values of a scorer, which may give several by name or by place."""
    if isinstance(value, dict):
        return {f"{name}.{key}": part for key, part in value.items()}
    if isinstance(value, list):
        return {f"{name}.{place}": part for place, part in enumerate(value)}
    return {name: value}


def _grade(value: Any) -> float | None:
    if isinstance(value, str):
        if value in GRADES:
            return GRADES[value]
        if value.lower() in WORDS:
            return WORDS[value.lower()]
    return number_of(value)


def _lead(log: dict[str, Any]) -> str | None:
    """Return the score that the tool leads with."""
    results = log.get("results") or {}
    headline = results.get("headline")
    if isinstance(headline, dict) and headline.get("score"):
        return str(headline["score"])
    scores = results.get("scores")
    return str(scores[0].get("name")) if scores else None


def _settings(run: dict[str, Any]) -> dict[str, str]:
    found = {}
    for name in SETTINGS:
        value = run.get(name)
        if value not in (None, {}, []):
            found[name] = json.dumps(value, sort_keys=True)
    dataset = run.get("dataset") or {}
    if dataset.get("name"):
        found["dataset"] = str(dataset["name"])
    return found


def _stopped(
    content: Content, log: dict[str, Any], run: dict[str, Any], rows: list[dict[str, Any]]
) -> tuple[str, ...]:
    """Say that a run did not come to its end."""
    status = str(log.get("status"))
    n_found = len({row[QUESTION] for row in rows})
    n_asked = len((run.get("dataset") or {}).get("sample_ids") or [])
    if status == "success" and n_found >= n_asked:
        return ()
    of = f" of {n_asked:,}" if n_asked else ""
    what = f"the run in {content.name} has status {status}" if status != "success" else content.name
    return (f"{what}; it holds {n_found:,}{of} samples. Run it to its end.",)


READERS = (
    Reader(
        name=f"a log of {TOOL} in an archive",
        suffixes=(".eval",),
        told_by="a zip archive with a journal or a header of a log",
        tells=_is_archive,
        read=_read_archive,
        extra="parquet",
    ),
    Reader(
        name=f"a log of {TOOL}",
        suffixes=(".json",),
        told_by='an object that begins with "version", "status" and "eval"',
        tells=_is_json_log,
        read=_read_json,
    ),
)
