"""The command ``shiftmetrics run CONFIG``: the measurements of one file, their report, and the rules they meet."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import typer

from shiftmetrics._core.interrupts import folder_for_results
from shiftmetrics._core.result import Result
from shiftmetrics._core.staging import all_or_nothing, rename
from shiftmetrics.cli.commands.check import show_outcomes
from shiftmetrics.cli.commands.config import Config, Measurement, prepare, read_config
from shiftmetrics.cli.console import say
from shiftmetrics.cli.errors import EXIT_ERROR, message_of, reader_may_leave, say_error
from shiftmetrics.cli.inputs.sources import Source
from shiftmetrics.cli.label_tables import RUNS_AGAIN
from shiftmetrics.cli.options import default_plan
from shiftmetrics.cli.outputs import CommandAnswer, check_outputs, command_line
from shiftmetrics.cli.signature import command
from shiftmetrics.rules import check_results
from shiftmetrics.views import Context, Rows, write_report
from shiftmetrics.views.report import answer_of, properties_of

REPORT, JUNIT = "report.html", "junit.xml"


@command
def run(
    config: Path,
    *,
    output: Path | None = None,
    dry_run: bool = False,
    trust: bool = False,
    quiet: bool = False,
) -> None:
    """Measure all that a file lists, and check it by rules.

    The results, report.html and junit.xml go to one folder. CONFIG holds tables [[diff]], [[audit]],
    [[agreement]], [[stability]], [[novelty]] and [[compare]], each with a name and the arguments and options of
    that command; besides, a title, an output folder, a seed, trust = true to open Python objects, and rules =
    "rules.toml" or [[rule]] tables. Paths start at the folder of CONFIG. All inputs are read before anything is
    computed.

    Exit codes: 0 done and all rules passed, 1 a rule failed, 2 an error.

    Example: `shiftmetrics run config.toml`

    Parameters
    ----------
    config : CONFIG
        A TOML file that lists measurements.
    output : FOLDER
        Where results go, in place of what CONFIG says.
    dry_run
        Read and check the inputs; compute and write nothing.
    """
    # the whole file is checked first
    plan = read_config(config)
    place = output or config.parent / plan.output
    trusted = True if trust or plan.trust else None
    # The folder is resolved here: the working folder is another one below.
    session = Session(plan=plan, place=place, folder=place.resolve(), quiet=quiet, trust=trusted)
    # paths start at the folder of the file
    with contextlib.chdir(config.parent):
        session.read_inputs()
        if not dry_run:
            raise typer.Exit(session.measure())
    say(
        f"Measurements with their inputs in order: {len(plan.measurements)}. "
        "Nothing was computed or written."
    )


@dataclass(frozen=True, kw_only=True)
class Session:
    """One run.

    Attributes
    ----------
    plan : Config
        The file.
    place, folder : Path
        Where results go: as it was typed, for messages, and from the root.
    quiet : bool
        Whether to print nothing but errors.
    trust : bool or None
        Whether Python objects are opened; None leaves that to each measurement.
    answers : dict of str to CommandAnswer
        What was measured, by the names of measurements.
    failures : dict of str to str
        What went wrong, by the names of measurements and rules.
    """

    plan: Config
    place: Path
    folder: Path
    quiet: bool
    trust: bool | None
    answers: dict[str, CommandAnswer] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def file(self, part: Measurement) -> Path:
        """Return where the result of a measurement goes."""
        return self.folder / f"{part.name}.json"

    def say(self, line: str) -> None:
        """Print a line, unless --quiet."""
        if not self.quiet:
            with reader_may_leave():
                say(line)

    def read_inputs(self) -> None:
        """Read and check the inputs of every measurement, so that errors show before anything is computed.

        Raises
        ------
        ValueError
            The first error, with the measurement that has it.
        """
        RUNS_AGAIN.set(True)
        self.check_tables()
        written: set[Path] = set()  # by the measurements before: a comparison may read them
        self.check_outputs(self.plan.measurements)
        for number, part in enumerate(self.plan.measurements):
            try:
                job = prepare(part, quiet=self.quiet, trust=self.trust)
                # A result that was written before may be an input, one that is still to be written may not.
                self.check_outputs(self.plan.measurements[number:], job.inputs)
                for source in job.inputs:
                    path = source.path.resolve()
                    if not (path in written or path.exists() or source.is_attribute):
                        raise ValueError(
                            f"{source.argument} must be there, got {source}, which does not exist."
                        )
            except Exception as error:
                raise ValueError(f"{part.kind} {part.name!r}: {message_of(error)}") from error
            written.add(self.file(part))

    def check_tables(self) -> None:
        """Refuse two measurements that write one table."""
        taken: dict[Path, str] = {}
        for part in self.plan.measurements:
            tables = {key: part.values.get(key) for key in ("changed", "rows", "to_label")}
            if part.kind == "audit" and tables["to_label"] is None:
                names = {key: part.values.get(key) for key in ("rows", "plan", "peek")}
                tables["to_label"] = default_plan(names)
            for key, text in tables.items():
                if text is None:
                    continue
                other = taken.setdefault(Path(text).resolve(), part.name)
                if other != part.name:
                    raise ValueError(
                        f"{key} of {part.name!r} must be a file of its own, got {str(text)!r}, that of {other!r}."
                    )

    def check_outputs(self, parts: Sequence[Measurement], inputs: Sequence[Source] = ()) -> None:
        """Refuse to replace files of other origin, or inputs; results of ``parts`` are still to be written."""
        # a folder that is not there holds nothing that could be lost
        if not self.folder.exists():
            return
        if not self.folder.is_dir():
            raise ValueError(f"The output must be a folder, got the file {str(self.folder)!r}.")
        check_outputs({"Its report": self.folder / REPORT, "JUnit": self.folder / JUNIT}, inputs)
        for part in parts:
            check_outputs({"--json": self.file(part)}, inputs)

    def measure(self) -> int:
        """Measure, write, check; return the exit code. When one measurement fails, the others go on."""
        parts = self.plan.measurements
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(folder_for_results(self.folder))
            except OSError as error:
                raise ValueError(
                    f"The output folder must be one that can be made, got {str(self.folder)!r} ({error.strerror})."
                ) from error
            self._measure_all(parts)
            return self._conclude()

    def _measure_all(self, parts: Sequence[Measurement]) -> None:
        """Measure and write one after the other; what fails is said, and written down for the end."""
        for number, part in enumerate(parts, start=1):
            self.say(f"[{number}/{len(parts)}] {part.name}: {part.kind}")
            started = time.perf_counter()
            try:
                # inputs are read a second time, so that all are not held at once
                # Each result gets its name when it is whole: an interrupt costs what is not yet measured.
                with all_or_nothing():
                    job = prepare(part, quiet=self.quiet, trust=self.trust)
                    answer: CommandAnswer = job.compute()
                    self._remove_pages()
                    answer.write_json(self.file(part))
            except Exception as error:
                # what an earlier run has left would pass for new
                self.file(part).unlink(missing_ok=True)
                self.file(part).with_suffix(".npz").unlink(missing_ok=True)
                self.failures[part.name] = message_of(error)
                self.say(f"      failed: {self.failures[part.name]}")
                continue
            for result in answer.results.values():
                said = answer_of(result)
                for warning in said.above:
                    self.say(f"      Warning: {warning}")
                self.say(f"      {said.line}")
            for note in dict.fromkeys(answer.notes):
                self.say(f"      Note: {note}")
            self.say(f"      {time.perf_counter() - started:.1f} s")
            self.answers[part.name] = answer.renamed(part.name)

    def _conclude(self) -> int:
        """Check the rules, write the page, and print errors; return the exit code."""
        results: dict[str, Result] = {}
        rows: dict[str, Rows] = {}
        for answer in self.answers.values():
            results.update(answer.results)
            rows.update(answer.context.rows)
        checked = None
        exit_code = 0
        with all_or_nothing():
            self._remove_pages()
            # rules see what was measured; what failed is missing, which is an error of the rule
            if self.plan.rules:
                checked = check_results(results, self.plan.rules)
                checked.to_junit(self.folder / JUNIT, properties_of(results))
                exit_code = checked.exit_code
                for outcome in checked.errors:
                    self.failures[f"rule {outcome.rule.name!r}"] = outcome.text
            if results:
                context = Context(
                    description=f"Measured as listed in {self.plan.path.name}.",
                    facts=self._facts(),
                    rows=rows,
                    remarks={
                        name: _remark(answer.context) for name, answer in self.answers.items()
                    },
                    command=command_line(),
                    rules=checked,
                )
                write_report(results, self.folder / REPORT, title=self.plan.title, context=context)
        if checked is not None and not self.quiet:
            with reader_may_leave():
                show_outcomes(checked)
        for what, name in {"JUnit": JUNIT, "Report": REPORT, "Results": ""}.items():
            if (self.folder / name).exists():
                self.say(f"{what}: {self.place / name}")
        for name, message in self.failures.items():
            say_error(f"{name}: {message}")
        return EXIT_ERROR if self.failures else exit_code

    def _remove_pages(self) -> None:
        """Remove the page and the outcomes of an earlier run, which would pass for those of this one."""
        for name in (REPORT, JUNIT):
            rename(self.folder / name, None)

    def _facts(self) -> Mapping[str, str]:
        # what stands beside the title
        facts = {"Configuration": self.plan.path.name}
        if self.plan.seed is not None:
            facts["Seed"] = str(self.plan.seed)
        if self.failures:
            facts["Failed"] = ", ".join(self.failures)
        return facts


def _remark(context: Context) -> str:
    """Return the description of a measurement and its facts, for its section."""
    facts = [f"{key}: {value}." for key, value in context.facts.items()]
    return " ".join([context.description, *facts])
