"""One run of ``shiftmetrics run``: inputs read, commands run one by one, what they found written, rules checked."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shiftmetrics._core.result import Result
from shiftmetrics.tools.cli.check import show_outcomes
from shiftmetrics.tools.cli.config import Config, Measurement
from shiftmetrics.tools.cli.errors import DEBUG_VARIABLE, EXIT_ERROR, message_of, reader_may_leave, say_error
from shiftmetrics.tools.cli.gathering import Answer, Folder, InputsRead, one_context
from shiftmetrics.tools.cli.outputs import received_by, say
from shiftmetrics.tools.cli.results import read_result_files
from shiftmetrics.tools.rules import Rule, RulesResult, check_results, write_junit
from shiftmetrics.views import Context, write_report


@dataclass(frozen=True, kw_only=True)
class Session:
    """One run.

    Attributes
    ----------
    plan : Config
        What is to be measured.
    folder : Folder
        Where it goes.
    written : mapping of Path to str
        All files that the run may write, with the measurement that each belongs to.
    commands : mapping of str to click.Command
        The commands of the application.
    rules : sequence of Rule
        What the results must hold.
    quiet : bool
        Whether to print nothing but errors.
    start : Path
        The folder in which the run was started; it works in the one of the configuration.
    """

    plan: Config
    folder: Folder
    written: Mapping[Path, str]
    commands: Mapping[str, Any]
    rules: Sequence[Rule]
    quiet: bool
    start: Path

    def shown(self, path: Path) -> str:
        """Return a path as one would type it where the run was started."""
        return str(path.relative_to(self.start)) if path.is_relative_to(self.start) else str(path)

    def say(self, line: str) -> None:
        """Print a line, unless all is to be quiet."""
        if not self.quiet:
            with reader_may_leave():
                say(line)

    def read_inputs(self, chosen: Sequence[Measurement]) -> None:
        """Run every command up to the point where it would compute, so that slips are found at once.

        Raises
        ------
        ValueError
            The first slip, with the measurement that has it.
        """
        for part in chosen:
            try:
                self._answer(part, chosen, only_inputs=True)
            except InputsRead:
                continue
            except Exception as error:
                if os.environ.get(DEBUG_VARIABLE):
                    raise
                raise ValueError(f"{part.kind} {part.name!r}: {message_of(error)}") from error

    def _answer(
        self, part: Measurement, chosen: Sequence[Measurement], *, only_inputs: bool = False
    ) -> Answer:
        """Run one command and take its answer."""
        yet_to_come = {other.name for other in chosen[chosen.index(part) :]}
        earlier = [other.name for other in self.plan.measurements if other.name not in yet_to_come]
        answer = Answer(name=part.name, written=self.written, earlier=earlier, only_inputs=only_inputs)
        command = self.commands[part.kind]
        arguments = [*(["--quiet"] if self.quiet else []), *part.arguments]
        with received_by(answer), command.make_context(part.kind, arguments) as context:
            command.invoke(context)
        return answer

    def measure(self, chosen: Sequence[Measurement]) -> int:
        """Measure, write, check; return the exit code. When one measurement fails, the others go on."""
        results: dict[str, Result] = {}
        contexts: dict[str, Context] = {}
        failures: dict[str, str] = {}
        self.folder.make()
        for part in self.plan.measurements:
            try:
                found = self._measured(part, chosen) if part in chosen else self._from_file(part)
            except Exception as error:
                if os.environ.get(DEBUG_VARIABLE):
                    raise
                if part in chosen:  # what an earlier run has found would pass for new
                    self.folder.remove(part.name)
                failures[part.name] = message_of(error)
                self.say(f"      failed: {failures[part.name]}")
                continue
            results |= found.results
            if found.context is not None:
                contexts[part.name] = found.context
        return self._conclude(results, contexts, failures)

    def _measured(self, part: Measurement, chosen: Sequence[Measurement]) -> Answer:
        """Measure and write one result, and say what was found."""
        self.say(f"[{chosen.index(part) + 1}/{len(chosen)}] {part.name}: {part.kind}")
        started = time.perf_counter()
        answer = self._answer(part, chosen)
        answer.write(self.folder.result(part.name))
        for name, result in answer.results.items():
            beside = "" if name == part.name else f"{result.title}: "
            self.say(f"      {beside}{result.headline()}")
        for note in answer.notes:
            self.say(f"      Note: {note}")
        self.say(f"      {time.perf_counter() - started:.1f} s")
        return answer

    def _from_file(self, part: Measurement) -> Answer:
        """Return what an earlier run has found."""
        file = self.folder.result(part.name)
        if not file.is_file():
            return Answer(name=part.name, written={})
        self.say(f"{part.name}: from {file.name}, of an earlier run")
        context = Context(
            description=f"From {file.name}, of an earlier run: what needs its rows is not drawn."
        )
        return Answer(name=part.name, written={}, results=read_result_files([file]).results, context=context)

    def _conclude(
        self, results: dict[str, Result], contexts: dict[str, Context], failures: dict[str, str]
    ) -> int:
        """Write the outcomes of the rules and the page, and say what went wrong; return the exit code."""
        checked = self._check(results)
        if results:
            self._write_report(results, contexts, failures, checked)
        else:
            self.folder.report.unlink(missing_ok=True)  # of an earlier run: it would pass for new
        self._name_files(checked)
        if checked is not None:
            failures |= {f"rule {outcome.rule.name!r}": outcome.text for outcome in checked.errors}
        for name, message in failures.items():
            say_error(f"{name}: {message}")
        return EXIT_ERROR if failures else 0 if checked is None else checked.exit_code

    def _check(self, results: dict[str, Result]) -> RulesResult | None:
        """Check the rules, if there are any, and write their outcomes."""
        if not self.rules:
            self.folder.junit.unlink(missing_ok=True)
            return None
        checked = check_results(results, self.rules)
        write_junit(checked, self.folder.junit)
        return checked

    def _name_files(self, checked: RulesResult | None) -> None:
        """Print how the rules ended, and where everything is."""
        if checked is not None and not self.quiet:
            with reader_may_leave():
                show_outcomes(checked)
        for what, file in (
            ("JUnit", self.folder.junit),
            ("Report", self.folder.report),
            ("Results", self.folder.path),
        ):
            if file.exists():
                self.say(f"{what}: {self.shown(file)}")
        for file in self.folder.others(self.written):
            self.say(
                f"Note: {self.shown(file)} is of no measurement in {self.plan.path.name}; `check` and `report` "
                "would read it with the folder."
            )

    def _write_report(
        self,
        results: dict[str, Result],
        contexts: dict[str, Context],
        failures: dict[str, str],
        checked: RulesResult | None,
    ) -> None:
        facts = {"Configuration": self.plan.path.name}
        if self.plan.seed is not None:
            facts["Seed"] = str(self.plan.seed)
        if failures:
            facts["Failed"] = ", ".join(failures)
        context = one_context(
            contexts, description=f"Measured as listed in {self.plan.path.name}.", facts=facts, rules=checked
        )
        write_report(results, self.folder.report, title=self.plan.title, context=context)
