"""The classes of results of the laboratory, loaded when a file names one that nothing has used yet."""

from __future__ import annotations

from shiftmetrics._core.record import Record
from shiftmetrics_lab.novelty_studies import NoveltyStudy
from shiftmetrics_lab.published.adam import AdamSteps
from shiftmetrics_lab.published.agreement import AdamRun
from shiftmetrics_lab.published.labels import LabelAgreement
from shiftmetrics_lab.published.separate import ModelAgreement
from shiftmetrics_lab.result import LabResult
from shiftmetrics_lab.shifts.factors.spec import FactorSpec
from shiftmetrics_lab.shifts.protocol import ShiftStep

RECORDS: tuple[type[Record], ...] = (
    AdamRun,
    AdamSteps,
    FactorSpec,
    LabelAgreement,
    LabResult,
    ModelAgreement,
    NoveltyStudy,
    ShiftStep,
)
"""What a file may hold."""
