"""The command ``shiftmetrics run CONFIG``: the measurements of one file, their report, and the rules they meet."""

from __future__ import annotations

import contextlib
import os
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from shiftmetrics._core.collection import is_ours
from shiftmetrics._core.result import has_foreign_archive, names_arrays
from shiftmetrics._core.validation import check_keys
from shiftmetrics.tools.cli.check import show_outcomes
from shiftmetrics.tools.cli.config import Config, Measurement, prepare, read_config
from shiftmetrics.tools.cli.errors import DEBUG_VARIABLE, EXIT_ERROR, message_of, reader_may_leave, say_error
from shiftmetrics.tools.cli.objects import UntrustedError
from shiftmetrics.tools.cli.outputs import Answer, say
from shiftmetrics.tools.cli.results import read_result_files
from shiftmetrics.tools.cli.signature import command
from shiftmetrics.tools.cli.sources import Source
from shiftmetrics.tools.rules import Rule, RulesResult, check_results, read_rules
from shiftmetrics.tools.rules.rule import check_names
from shiftmetrics.views import Context, write_report


@command
def run(
    config: Path,
    *,
    only: list[str] | None = None,
    output: Path | None = None,
    dry_run: bool = False,
    trust: bool = False,
    quiet: bool = False,
) -> None:
    """Measure all that a file lists, and check it by rules.

    The results, report.html and junit.xml go to one folder. CONFIG holds tables [[agreement]], [[stability]],
    [[novelty]] and [[compare]], each with a name and the arguments and options of that command; besides, a title, an
    output folder, a seed, trust = true to open Python objects, and rules = "rules.toml" or [[rule]] tables. Paths
    start at the folder of CONFIG. All inputs are read before anything is computed.

    Exit codes: 0 done and all rules passed, 1 a rule failed, 2 an error.

    Example: `shiftmetrics run config.toml`

    Parameters
    ----------
    config : CONFIG
        A TOML file that lists measurements.
    only : NAME
        Measure this alone, again for each; the others are taken from their files, where there are any.
    output : FOLDER
        Where results go, in place of what CONFIG says.
    dry_run
        Read the inputs and print the commands; compute and write nothing, open no Python objects.
    """
    plan = read_config(config)
    folder = Folder((output or config.parent / plan.output).resolve(), plan)
    check_keys(only or [], "--only", list(folder.names), f"the name of a measurement of {plan.path.name}")
    chosen = [part for part in plan.measurements if not only or part.name in only]
    start = Path.cwd()
    with contextlib.chdir(config.parent):
        folder.check()
        rules = _rules_of(plan, folder)
        session = Session(
            plan=plan, folder=folder, chosen=chosen, rules=rules, start=start, quiet=quiet or dry_run,
            trust=False if dry_run else trust or plan.trust or None,
        )  # fmt: skip
        unopened = session.read_inputs()
        if dry_run:
            session.print_plan(unopened)
            return
        code = session.measure()
    raise typer.Exit(code)


def _rules_of(plan: Config, folder: Folder) -> Sequence[Rule]:
    """Read the rules that the file names, and those in it; the run may not write their baselines."""
    rules = [] if plan.rules is None else list(read_rules(plan.rules))
    if plan.inline_rules:
        rules += read_rules({"rule": plan.inline_rules})
    if rules:
        check_names(rules, plan.path.name)
    for rule in rules:
        if rule.baseline is not None and Path(rule.baseline).resolve() in folder.files:
            raise ValueError(
                f"Rule {rule.name!r}: baseline must not be a file that this run writes, got {rule.baseline!r}. "
                "Keep the results of the earlier release elsewhere."
            )
    return rules


class Folder:
    """Where the results of a run go.

    Attributes
    ----------
    path, report, junit : Path
        The folder, the page, and the outcomes of rules.
    names : dict of str to Path
        The JSON file of each measurement.
    files : dict of Path to str
        All files that the run may write, with the measurement that each belongs to.
    """

    def __init__(self, path: Path, plan: Config) -> None:
        self.path = path
        self.report, self.junit = path / "report.html", path / "junit.xml"
        self.names = {part.name: path / f"{part.name}.json" for part in plan.measurements}
        results = {file: name for name, file in self.names.items()}
        archives = {file.with_suffix(".npz"): name for file, name in results.items()}
        self.files = {**results, **archives, self.report: "", self.junit: ""}

    def check(self) -> None:
        """Make sure that the folder can be written, and that nothing of other origin would be replaced.

        Raises
        ------
        ValueError
            If the folder cannot be one, or such a file stands in it.
        """
        if self.path.exists() and not self.path.is_dir():
            raise ValueError(f"The output must be a folder, got the file {str(self.path)!r}.")
        if self.path.exists() and not os.access(self.path, os.W_OK):
            raise ValueError(f"The output must be a folder that can be written, got {str(self.path)!r}.")
        written = [file for file in self.files if file.suffix != ".npz"]
        foreign = [file for file in written if file.exists() and not is_ours(file)]
        foreign += [file.with_suffix(".npz") for file in self.names.values() if has_foreign_archive(file)]
        if foreign:
            raise ValueError(
                f"The output folder must not hold files of other origin under our names, got {str(foreign[0])!r}. "
                "Move it away, or choose another folder."
            )

    def make(self) -> None:
        """Make the folder, if it is not there."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(
                f"The output folder must be one that can be made, got {str(self.path)!r} ({error.strerror})."
            ) from error

    def others(self) -> list[Path]:
        """Return results in the folder that this run does not write."""
        return [file for file in sorted(self.path.glob("*.json")) if file not in self.files and is_ours(file)]

    def remove(self, name: str) -> None:
        """Remove the result of an earlier run, so that nobody takes it for new."""
        file = self.names[name]
        if file.is_file():
            has_arrays = names_arrays(file)
            file.unlink()
            if has_arrays:
                file.with_suffix(".npz").unlink(missing_ok=True)


@dataclass(frozen=True, kw_only=True)
class Session:
    """One run.

    Attributes
    ----------
    plan : Config
        The file.
    folder : Folder
        Where results go.
    chosen : sequence of Measurement
        What is measured; the others are read from their files.
    rules : sequence of Rule
        What the results must hold.
    quiet : bool
        Whether to print nothing but errors, and to ask nothing.
    trust : bool or None
        Whether Python objects are opened; None leaves that to each measurement.
    start : Path
        The folder in which the run was started; it works in the one of the configuration.
    """

    plan: Config
    folder: Folder
    chosen: Sequence[Measurement]
    rules: Sequence[Rule]
    quiet: bool
    trust: bool | None
    start: Path

    def shown(self, path: Path) -> str:
        """Return a path as one would type it where the run was started."""
        return str(path.relative_to(self.start)) if path.is_relative_to(self.start) else str(path)

    def say(self, line: str) -> None:
        """Print a line, unless --quiet."""
        if not self.quiet:
            with reader_may_leave():
                say(line)

    def read_inputs(self) -> list[str]:
        """Read and check the inputs of every measurement, so that errors show before anything is computed.

        Returns
        -------
        list of str
            With ``trust=False``, the measurements that would open Python objects.

        Raises
        ------
        ValueError
            The first error, with the measurement that has it.
        """
        unopened = []
        for part in self.chosen:
            try:
                self._check_inputs(part, prepare(part, quiet=self.quiet, trust=self.trust).inputs)
            except Exception as error:
                if self.trust is False and isinstance(error, UntrustedError):
                    unopened.append(part.name)
                    continue
                if os.environ.get(DEBUG_VARIABLE):
                    raise
                raise ValueError(f"{part.kind} {part.name!r}: {message_of(error)}") from error
        return unopened

    def _check_inputs(self, part: Measurement, inputs: Sequence[Source]) -> None:
        """Refuse inputs that this run would overwrite; results of earlier measurements may be read."""
        later = {other.name for other in self.chosen[self.chosen.index(part) :]}
        for source in inputs:
            path = source.path.resolve()
            writer = self.folder.files.get(path)
            is_earlier = writer in self.folder.names and writer not in later and path.suffix == ".json"
            if writer is not None and not is_earlier:
                raise ValueError(
                    f"{source.argument} must not be a file that this run has yet to write, got {source}. "
                    "Choose another name or output folder; results of earlier measurements may be read."
                )
            if path == self.folder.path:
                raise ValueError(f"{source.argument} must not be the output folder, got {source}.")
            if writer is None and not path.exists() and not source.is_attribute:
                raise ValueError(f"{source.argument} must be there, got {source}, which does not exist.")

    def print_plan(self, unopened: Sequence[str]) -> None:
        """Print what would run, as one would type it."""
        here = Path.cwd()  # the folder of the file
        if here != self.start:
            say(shlex.join(["cd", self.shown(here)]))
        for part in self.chosen:
            target = os.path.relpath(self.folder.names[part.name], here)
            say(shlex.join(["shiftmetrics", *part.command_line(), "--json", target]))
        beside = f" and {self.shown(self.folder.junit)}" if self.rules else ""
        say(f"Then {self.shown(self.folder.report)}{beside}.")
        checked = f"Measurements with their inputs in order: {len(self.chosen) - len(unopened)}."
        say(f"{checked} Nothing was computed or written.")
        for name in unopened:
            say(f"Not checked: {name}. It opens Python objects, which runs their code and needs --trust.")

    def measure(self) -> int:
        """Measure, write, check; return the exit code. When one measurement fails, the others go on."""
        answers: dict[str, Answer] = {}
        failures: dict[str, str] = {}
        self.folder.make()
        for part in self.plan.measurements:
            try:
                if part in self.chosen:
                    answers[part.name] = self._measured(part)
                elif self.folder.names[part.name].is_file():
                    answers[part.name] = self._from_file(part)
            except Exception as error:
                if os.environ.get(DEBUG_VARIABLE):
                    raise
                if part in self.chosen:  # a result of an earlier run would pass for new
                    self.folder.remove(part.name)
                failures[part.name] = message_of(error)
                self.say(f"      failed: {failures[part.name]}")
        return self._conclude(answers, failures)

    def _measured(self, part: Measurement) -> Answer:
        """Measure and write one result, and print it."""
        self.say(f"[{self.chosen.index(part) + 1}/{len(self.chosen)}] {part.name}: {part.kind}")
        started = time.perf_counter()
        answer: Answer = prepare(part, quiet=self.quiet, trust=self.trust).compute()
        answer.write_json(self.folder.names[part.name])
        for number, result in enumerate(answer.results.values()):
            self.say(f"      {f'{result.title}: ' if number else ''}{result.headline()}")
        for note in answer.notes:
            self.say(f"      Note: {note}")
        self.say(f"      {time.perf_counter() - started:.1f} s")
        return answer.renamed(part.name)

    def _from_file(self, part: Measurement) -> Answer:
        """Return the results of an earlier run."""
        file = self.folder.names[part.name]
        self.say(f"{part.name}: from {file.name}, of an earlier run")
        text = f"From {file.name}, of an earlier run: what needs its rows is not drawn."
        return Answer(results=read_result_files([file]).results, context=Context(description=text))

    def _conclude(self, answers: dict[str, Answer], failures: dict[str, str]) -> int:
        """Check the rules, write the page, and print errors; return the exit code."""
        results = {name: result for answer in answers.values() for name, result in answer.results.items()}
        checked = check_results(results, self.rules) if self.rules else None
        for file in (self.folder.junit, self.folder.report):  # those of an earlier run would pass for new
            file.unlink(missing_ok=True)
        if checked is not None:
            checked.to_junit(self.folder.junit)
        if results:
            facts = {"Configuration": self.plan.path.name}
            if self.plan.seed is not None:
                facts["Seed"] = str(self.plan.seed)
            if failures:
                facts["Failed"] = ", ".join(failures)
            context = Context(
                description=f"Measured as listed in {self.plan.path.name}.",
                facts=facts,
                rows={
                    name: rows for answer in answers.values() for name, rows in answer.context.rows.items()
                },
                remarks={name: _remark(answer.context) for name, answer in answers.items()},
                rules=checked,
            )
            write_report(results, self.folder.report, title=self.plan.title, context=context)
        self._say_files(checked)
        if checked is not None:
            failures |= {f"rule {outcome.rule.name!r}": outcome.text for outcome in checked.errors}
        for name, message in failures.items():
            say_error(f"{name}: {message}")
        return EXIT_ERROR if failures else 0 if checked is None else checked.exit_code

    def _say_files(self, checked: RulesResult | None) -> None:
        """Print how the rules ended, and where everything is."""
        if checked is not None and not self.quiet:
            with reader_may_leave():
                show_outcomes(checked)
        folder = self.folder
        for what, file in (("JUnit", folder.junit), ("Report", folder.report), ("Results", folder.path)):
            if file.exists():
                self.say(f"{what}: {self.shown(file)}")
        for file in folder.others():
            self.say(
                f"Note: {self.shown(file)} is of no measurement in {self.plan.path.name}; `check` and `report` "
                "would read it with the folder."
            )


def _remark(context: Context) -> str:
    """Return the description of a measurement, and its facts that the description does not hold, for its section."""
    text = context.description.casefold()
    facts = [f"{key}: {value}." for key, value in context.facts.items() if value.casefold() not in text]
    return " ".join([context.description, *facts])
