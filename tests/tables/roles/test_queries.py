"""Which columns of rankings hold queries, documents and relevances."""

import numpy as np
import pandas as pd

from shiftmetrics.tables.evidence import evidence_of
from shiftmetrics.tables.kinds import decide_kinds
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.python import cells_of
from shiftmetrics.tables.roles.queries import of_rankings


def tables(**columns):
    frame = pd.DataFrame(
        {"qid": np.arange(20) // 4, "doc": np.arange(20) % 7, "relevance": 0, **columns}
    )
    cells = cells_of(frame, "old")
    return [evidence_of(cells, decide_kinds([cells]).frames[0])]


def test_names_tell():
    found = of_rankings(tables(), None, RoleOptions())
    assert (found.group, found.label, found.id) == ("qid", "relevance", "qid,doc")


def test_what_was_typed_stays():
    typed = RoleOptions(group="doc", label="qid", id="none")
    assert of_rankings(tables(), None, typed) == typed


def test_several_documents_or_doubled_ones_are_no_id():
    assert of_rankings(tables(item=np.arange(20)), None, RoleOptions()).id is None
    assert of_rankings(tables(doc=0), None, RoleOptions()).id is None
