"""What a report may show beside its results: what was evaluated, and the rows behind each number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shiftmetrics.rules import RulesResult


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The rows behind one result, for drawings that the result alone cannot make. Everything is optional.

    Attributes
    ----------
    scores, reference_scores : array of shape (n_samples, n_classes), optional
        What `posterior_agreement` was given, for the confidence and for the pairs that agree least.
    sample_weight : array of shape (n_samples,), optional
        What the measure was given.
    names, reference_names : sequence of str, optional
        A name for each row. Default: its number.
    labels, reference_labels : sequence, optional
        The true class of each row, as it should be printed.
    class_names : sequence of str, optional
        Names of the columns of ``scores``.
    images, reference_images : array of shape (n_samples, height, width) or (..., channels), optional
        A picture of each row.
    texts, reference_texts : sequence of str, optional
        The text of each row.
    table, reference_table : DataFrame, optional
        Anything else that is known of each row; beside ``texts``, such as the weight of each word.
    bandwidth_sweep : NoveltyStudy, optional
        The novelty of these rows at several bandwidths, from `shiftmetrics_lab.novelty_studies`.
    """

    scores: Any = None
    reference_scores: Any = None
    sample_weight: Any = None
    names: Sequence[str] | None = None
    reference_names: Sequence[str] | None = None
    labels: Any = None
    reference_labels: Any = None
    class_names: Sequence[str] | None = None
    images: Any = None
    reference_images: Any = None
    texts: Any = None
    reference_texts: Any = None
    table: Any = None
    reference_table: Any = None
    bandwidth_sweep: Any = None


@dataclass(frozen=True, kw_only=True)
class Context:
    """What was evaluated, in words and rows.

    Attributes
    ----------
    description : str
        A paragraph under the title.
    facts : mapping of str to str
        Short facts beside it, such as the model, the files, the accuracy.
    rows : mapping of str to Rows
        The rows behind the result of each name.
    remarks : mapping of str to str
        A sentence for the section of the result of each name: how its numbers came about.
    command : str
        The command line that made the page.
    read : sequence of str
        How the inputs were read: what their columns were taken for.
    files : mapping of str to str
        The file that was given for each argument of the command, such as REFERENCE: what to do next names them.
    rules : RulesResult, optional
        How rules on the results ended, from `shiftmetrics.rules.check_results`.
    """

    description: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    rows: Mapping[str, Rows] = field(default_factory=dict)
    remarks: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    read: Sequence[str] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    rules: RulesResult | None = None
