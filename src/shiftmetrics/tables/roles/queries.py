"""Tables of rankings: the query of each row, its document, and how relevant it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shiftmetrics.tables.evidence import TableEvidence
from shiftmetrics.tables.matching import are_distinct
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.roles.candidates import candidate_of
from shiftmetrics.tables.roles.names import has_name_of, plain_name

QUERY_NAMES = {
    "qid", "query", "query_id", "queryid", "q_id", "topic", "topic_id", "group_id", "session_id",
}  # fmt: skip
RELEVANCE_NAMES = {
    "relevance", "rel", "rank", "relevance_label", "position", "ranking", "graded_relevance",
}  # fmt: skip
GRADE_NAMES = RELEVANCE_NAMES - {"rank", "position", "ranking"} | {"relevance_grade", "judgment"}
"""Names of how relevant a document is, which are not those of its place."""

DOCUMENT_NAMES = {
    "doc", "docno", "document", "item", "passage", "product", "candidate", "url", "pid", "did",
}  # fmt: skip


def of_rankings(
    tables: Sequence[TableEvidence], labels: TableEvidence | None, options: RoleOptions
) -> RoleOptions:
    """Return what is said of the columns of rankings, with what their names tell.

    The query is one of several that name it. Documents stand under many queries, so that query and document together
    name a row.
    """
    everything = [*tables, *([] if labels is None else [labels])]
    shared = [name for name in tables[0].columns if all(name in one.columns for one in tables)]
    group = options.group
    if group is None:
        queries = [name for name in shared if plain_name(name) in QUERY_NAMES]
        # Several that fit leave it open: a wrong one would rank other documents together.
        group = queries[0] if len(queries) == 1 else None
    label = options.label
    if label is None:
        holder = shared if labels is None else list(labels.columns)
        graded = [name for name in holder if plain_name(name) in GRADE_NAMES]
        label = graded[0] if len(graded) == 1 else None
    row_id = options.id
    # With --old one table holds both models, and no rows need be matched.
    if row_id is None and group is not None and options.old is None:
        documents = [
            name
            for name in shared
            if name not in (group, label)
            # A comma stands between the parts of an id that is typed.
            and "," not in name + group
            and (plain_name(name) in DOCUMENT_NAMES or has_name_of(name, "id"))
            and all(_name_rows(one, group, name) for one in everything if name in one.columns)
        ]
        row_id = f"{group},{documents[0]}" if len(documents) == 1 else None
    return replace(options, group=group, label=label, id=row_id)


def _name_rows(table: TableEvidence, query: str, document: str) -> bool:
    """Return True if a document stands once under each query of a table."""
    if query not in table.columns or table.columns[document].is_fractional:
        return False
    one = candidate_of([(query, document)] * 2, [table, table])
    return are_distinct(one.codes[0])
