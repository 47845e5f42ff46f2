"""Details of lighteval: a parquet file for each task, whose rows hold the question, the answer and its metrics."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.content import Content, Reader
from shiftmetrics.tables.logs import collector_paused
from shiftmetrics.tables.readers.evaluations import ScoredAnswer, cells_of_answers

TOOL = "lighteval"
METRICS = ("metric", "metrics")
ANSWERS = ("model_response", "predictions", "pred_logits")

_NAME = re.compile(r"details_(?P<task>.+?)(_\d{4}-\d\d-\d\dT[\d\-.:]+)?\.parquet(\..*)?")


def _tells(content: Content) -> bool:
    if not content.head.startswith(b"PAR1"):
        return False
    try:
        from pyarrow import parquet, types
    except ImportError:
        # the reader of parquet files says what is missing
        return False
    schema = parquet.read_schema(_source(content))
    metrics = [name for name in METRICS if name in schema.names]
    if not metrics or not any(name in schema.names for name in ANSWERS):
        return False
    return bool(types.is_struct(schema.field(metrics[0]).type))


@collector_paused()
def _read(content: Content) -> Cells:
    from pyarrow import parquet

    content.check_size(8 * content.size)
    records = parquet.read_table(_source(content)).to_pylist()
    match = _NAME.fullmatch(content.name)
    # the number of examples stands behind the task: gsm8k|5
    task = match["task"] if match else ""
    return cells_of_answers(content, TOOL, _answers(records, task))


def _source(content: Content) -> Any:
    """Return what pyarrow opens: a file by its path, which alone is read in parts."""
    from pyarrow import BufferReader

    return str(content.path) if content.path is not None else BufferReader(content.read())


def _answers(records: list[dict[str, Any]], task: str) -> Iterator[ScoredAnswer]:
    for place, record in enumerate(records):
        doc = record.get("doc") or {}
        asked = doc.get("query") or record.get("full_prompt") or record.get("example")
        name = doc.get("id")
        yield ScoredAnswer(
            question=str(place) if name in (None, "") else str(name),
            asked=[asked, doc.get("choices") or record.get("choices")],
            scores=record.get("metric") or record.get("metrics") or {},
            task=task or str(doc.get("task_name") or ""),
            about=doc,
        )


READER = Reader(
    name=f"a file of details of {TOOL}",
    suffixes=(".parquet",),
    told_by="a parquet file of answers with a struct of metrics",
    tells=_tells,
    read=_read,
    extra="parquet",
)
