"""A result that decides something, and its verdict."""

from dataclasses import dataclass
from typing import ClassVar

from shiftmetrics import Result
from shiftmetrics._core.result import Status
from shiftmetrics.views.report.answer import Answer, Tile, answers

DONE = Status("done", "It is decided.")


@dataclass(frozen=True, eq=False, kw_only=True)
class Decided(Result):
    """A result that decides something."""

    measure: ClassVar[str] = "tests.decided"
    title: ClassVar[str] = "Decision"

    status: Status = DONE


@answers(Decided)
def say(result: Decided) -> Answer:
    return Answer(
        word="SAFE" if result.value >= 0 else "WORSE",
        tone="good" if result.value >= 0 else "bad",
        sentence="new is <b>2 points</b> better.",
        steps=("Ship it.", "Look at cats."),
        findings=("Kappa 0.9.",),
        tiles=(Tile(name="Fixed", value="52", meaning="of 97"),),
    )
