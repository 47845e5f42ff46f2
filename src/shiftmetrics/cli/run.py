"""The command ``shiftmetrics run CONFIG``: the measurements of one file, their report, and the rules they meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shiftmetrics.cli import options

if TYPE_CHECKING:
    from shiftmetrics._core.result import Result
    from shiftmetrics.cli.config import Config, Measurement
    from shiftmetrics.cli.gathering import Answer, Folder
    from shiftmetrics.report import Context
    from shiftmetrics.rules import Rule, RulesResult


def run(
    config: Annotated[
        Path,
        typer.Argument(metavar="CONFIG", help="A TOML file that lists measurements.", show_default=False),
    ],
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="NAME",
            help="Measure this alone, again for each; the others are taken from their files, where there are any.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FOLDER", help="Where results go, in place of what CONFIG says."
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Read the inputs and print the commands; compute and write nothing."),
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure all that a file lists, and check it by rules: one folder with results, report.html and junit.xml.

    CONFIG holds tables [[agreement]], [[stability]], [[novelty]] and [[compare]], each with a name and the arguments
    and options of that command; besides, a title, an output folder, a seed, and rules = "rules.toml" or [[rule]]
    tables. Paths start at the folder of CONFIG. All inputs are read before anything is computed.

    Exit codes: 0 done and all rules passed, 1 a rule failed, 2 an error.

    Example: `shiftmetrics run config.toml`
    """
    import contextlib

    from typer.main import get_command

    from shiftmetrics.cli.app import app
    from shiftmetrics.cli.config import read_config
    from shiftmetrics.cli.gathering import Folder

    commands: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]
    plan = read_config(config, commands)
    folder = Folder(path=(output or config.parent / plan.output).resolve())
    chosen = _chosen(plan, only)
    start = Path.cwd()
    with contextlib.chdir(config.parent):
        rules = _rules_of(plan)
        folder.check([part.name for part in plan.measurements])
        session = _Session(plan=plan, folder=folder, commands=commands, rules=rules, quiet=quiet, start=start)
        session.read_inputs(chosen)
        if dry_run:
            _print_plan(session, chosen)
            return
        code = session.measure(chosen)
    raise typer.Exit(code)


@dataclass(frozen=True, kw_only=True)
class _Session:
    """One run: what is to be measured, by which commands, and where it goes."""

    plan: Config
    folder: Folder
    commands: dict[str, Any]
    rules: Sequence[Rule]
    quiet: bool
    start: Path

    def shown(self, path: Path) -> str:
        """Return a path as one would type it where the run was started."""
        return str(path.relative_to(self.start)) if path.is_relative_to(self.start) else str(path)

    def say(self, line: str) -> None:
        """Print a line, unless all is to be quiet."""
        from shiftmetrics.cli.outputs import say

        if not self.quiet:
            say(line)

    def read_inputs(self, chosen: Sequence[Measurement]) -> None:
        """Run every command up to the point where it would compute, so that slips are found at once.

        Raises
        ------
        ValueError
            The first slip, with the measurement that has it.
        """
        from shiftmetrics.cli.errors import message_of
        from shiftmetrics.cli.gathering import InputsRead

        for part in chosen:
            try:
                self._answer(part, chosen, only_inputs=True)
            except InputsRead:
                continue
            except Exception as error:
                raise ValueError(f"{part.kind} {part.name!r}: {message_of(error)}") from error

    def _answer(
        self, part: Measurement, chosen: Sequence[Measurement], *, only_inputs: bool = False
    ) -> Answer:
        """Run one command and take its answer."""
        from shiftmetrics.cli.gathering import Answer
        from shiftmetrics.cli.outputs import received_by

        yet_to_come = {other.name for other in chosen[chosen.index(part) :]}
        earlier = [other.name for other in self.plan.measurements if other.name not in yet_to_come]
        answer = Answer(name=part.name, written=self._written(), earlier=earlier, only_inputs=only_inputs)
        command = self.commands[part.kind]
        arguments = [*(["--quiet"] if self.quiet else []), *part.arguments]
        with received_by(answer), command.make_context(part.kind, arguments) as context:
            command.invoke(context)
        return answer

    def _written(self) -> dict[Path, str]:
        """Return all files that this run may write, with the measurement that each belongs to."""
        files = {self.folder.report: "", self.folder.junit: ""}
        for part in self.plan.measurements:
            file = self.folder.result(part.name)
            files |= {file: part.name, file.with_suffix(".npz"): part.name}
        return files

    def measure(self, chosen: Sequence[Measurement]) -> int:
        """Measure, write, check; return the exit code. When one measurement fails, the others go on."""
        from shiftmetrics.cli.errors import message_of

        results: dict[str, Result] = {}
        contexts: dict[str, Context] = {}
        failures: dict[str, str] = {}
        self.folder.path.mkdir(parents=True, exist_ok=True)
        for part in self.plan.measurements:
            try:
                found = self._measured(part, chosen) if part in chosen else self._from_file(part)
            except Exception as error:
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
        import time

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
        from shiftmetrics.cli.gathering import Answer
        from shiftmetrics.cli.results import read_result_files

        file = self.folder.result(part.name)
        if not file.is_file():
            return Answer(name=part.name, written={})
        self.say(f"{part.name}: from {file.name}, of an earlier run")
        return Answer(name=part.name, written={}, results=read_result_files([file]).results)

    def _conclude(
        self, results: dict[str, Result], contexts: dict[str, Context], failures: dict[str, str]
    ) -> int:
        """Write the outcomes of the rules and the page, and say what went wrong; return the exit code."""
        from shiftmetrics.cli.errors import EXIT_ERROR, say_error

        checked = self._check(results)
        if results:
            self._write_report(results, contexts, failures, checked)
            self.say(f"Report:  {self.shown(self.folder.report)}\nResults: {self.shown(self.folder.path)}")
        else:
            self.folder.report.unlink(missing_ok=True)  # of an earlier run: it would pass for new
        for name, message in failures.items():
            say_error(f"{name} failed: {message}")
        return EXIT_ERROR if failures else 0 if checked is None else checked.exit_code

    def _check(self, results: dict[str, Result]) -> RulesResult | None:
        """Check the rules, if there are any, and write their outcomes."""
        if not self.rules:
            self.folder.junit.unlink(missing_ok=True)
            return None
        from shiftmetrics.cli.check import show_outcomes
        from shiftmetrics.rules import check_results, write_junit

        checked = check_results(results, self.rules)
        write_junit(checked, self.folder.junit)
        if not self.quiet:
            show_outcomes(checked)
        self.say(f"JUnit:   {self.shown(self.folder.junit)}")
        return checked

    def _write_report(
        self,
        results: dict[str, Result],
        contexts: dict[str, Context],
        failures: dict[str, str],
        checked: RulesResult | None,
    ) -> None:
        from shiftmetrics.cli.gathering import one_context
        from shiftmetrics.report import write_report

        facts = {"Configuration": self.plan.path.name}
        if self.plan.seed is not None:
            facts["Seed"] = str(self.plan.seed)
        if failures:
            facts["Failed"] = ", ".join(failures)
        context = one_context(
            contexts, description=f"Measured as listed in {self.plan.path.name}.", facts=facts, rules=checked
        )
        write_report(results, self.folder.report, title=self.plan.title, context=context)


def _rules_of(plan: Config) -> list[Rule]:
    """Read the rules that the file names, and those that stand in it."""
    if plan.rules is None and not plan.inline_rules:
        return []
    from shiftmetrics.rules import read_rules

    rules = [] if plan.rules is None else list(read_rules(plan.rules))
    if plan.inline_rules:
        rules += read_rules({"rule": plan.inline_rules})
    names = [rule.name for rule in rules]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ValueError(f"Rules must have names of their own, got {repeated!r} twice.")
    return rules


def _chosen(plan: Config, only: Sequence[str] | None) -> list[Measurement]:
    """Return the measurements that ``--only`` names, in the order of the file; without it, all."""
    from shiftmetrics._core.validation import check_keys

    names = [part.name for part in plan.measurements]
    check_keys(only or [], "--only", names)
    return [part for part in plan.measurements if not only or part.name in only]


def _print_plan(session: _Session, chosen: Sequence[Measurement]) -> None:
    """Print what would run, as one would type it."""
    import os
    import shlex

    from shiftmetrics.cli.outputs import say

    here = Path.cwd()  # the folder of the file
    if here != session.start:
        say(shlex.join(["cd", session.shown(here)]))
    for part in chosen:
        target = os.path.relpath(session.folder.result(part.name), here)
        say(shlex.join(["shiftmetrics", part.kind, *part.arguments, "--json", target]))
    beside = f" and {session.shown(session.folder.junit)}" if session.rules else ""
    say(f"Then {session.shown(session.folder.report)}{beside}.")
    say(f"Measurements with their inputs in order: {len(chosen)}. Nothing was computed or written.")
