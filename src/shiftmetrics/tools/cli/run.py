"""The command ``shiftmetrics run CONFIG``: the measurements of one file, their report, and the rules they meet."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from shiftmetrics._core.result import names_arrays
from shiftmetrics.tools.cli.check import show_outcomes
from shiftmetrics.tools.cli.config import Config, Measurement, prepare, read_config
from shiftmetrics.tools.cli.errors import DEBUG_VARIABLE, EXIT_ERROR, message_of, reader_may_leave, say_error
from shiftmetrics.tools.cli.objects import UntrustedError
from shiftmetrics.tools.cli.outputs import Answer, Job, check_outputs, refuse_foreign_archive, say
from shiftmetrics.tools.cli.signature import command
from shiftmetrics.tools.rules import Rule, check_results, read_rules
from shiftmetrics.tools.rules.rule import check_names
from shiftmetrics.views import Context, write_report


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
    output : FOLDER
        Where results go, in place of what CONFIG says.
    dry_run
        Read and check the inputs; compute and write nothing, open no Python objects.
    """
    plan = read_config(config)
    session = Session(
        plan=plan,
        folder=(output or config.parent / plan.output).resolve(),
        start=Path.cwd(),
        quiet=quiet or dry_run,
        trust=False if dry_run else trust or plan.trust or None,
    )
    with contextlib.chdir(config.parent):
        session.check_folder()
        rules = session.read_rules()
        unopened = session.read_inputs()
        if dry_run:
            checked = f"Measurements with their inputs in order: {len(plan.measurements) - len(unopened)}."
            say(f"{checked} Nothing was computed or written.")
            for name in unopened:
                say(
                    f"Not checked: {name}. It opens Python objects, which runs their code: no dry run does that."
                )
            return
        code = session.measure(rules)
    raise typer.Exit(code)


@dataclass(frozen=True, kw_only=True)
class Session:
    """One run.

    Attributes
    ----------
    plan : Config
        The file.
    folder : Path
        Where results go.
    start : Path
        The folder in which the run was started; it works in the one of the configuration.
    quiet : bool
        Whether to print nothing but errors, and to ask nothing.
    trust : bool or None
        Whether Python objects are opened; None leaves that to each measurement.
    """

    plan: Config
    folder: Path
    start: Path
    quiet: bool
    trust: bool | None

    @property
    def report(self) -> Path:
        """The page."""
        return self.folder / "report.html"

    @property
    def junit(self) -> Path:
        """The outcomes of rules."""
        return self.folder / "junit.xml"

    def file(self, part: Measurement) -> Path:
        """Return where the result of a measurement goes."""
        return self.folder / f"{part.name}.json"

    def say(self, line: str) -> None:
        """Print a line, unless --quiet."""
        if not self.quiet:
            with reader_may_leave():
                say(line)

    def check_folder(self) -> None:
        """Make sure that the folder can be written, and that nothing of other origin would be replaced.

        Raises
        ------
        ValueError
            If the folder cannot be one, or such a file stands in it.
        """
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"The output must be a folder, got the file {str(self.folder)!r}.")
        self._check_outputs(self.plan.measurements, None)
        for part in self.plan.measurements:
            refuse_foreign_archive(self.file(part))

    def _check_outputs(self, parts: Sequence[Measurement], job: Job | None) -> None:
        """Refuse to replace files of other origin, or what a job reads; ``parts`` are still to be written."""
        if self.folder.exists():  # else it holds nothing
            for outputs in [{"Its report": self.report, "JUnit": self.junit}] + [
                {"--json": self.file(part)} for part in parts
            ]:
                check_outputs(outputs, () if job is None else job.inputs)

    def read_rules(self) -> Sequence[Rule]:
        """Read the rules that the file names, and those in it."""
        rules = [] if self.plan.rules is None else list(read_rules(self.plan.rules))
        if self.plan.inline_rules:
            rules += read_rules({"rule": self.plan.inline_rules})
        if rules:
            check_names(rules, self.plan.path.name)
        return rules

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
        parts = self.plan.measurements
        for place, part in enumerate(parts):
            try:
                job = prepare(part, quiet=self.quiet, trust=self.trust)
                self._check_outputs(parts[place:], job)
                self._check_inputs(job, parts[:place])
            except Exception as error:
                if self.trust is False and isinstance(error, UntrustedError):
                    unopened.append(part.name)
                    continue
                if os.environ.get(DEBUG_VARIABLE):
                    raise
                raise ValueError(f"{part.kind} {part.name!r}: {message_of(error)}") from error
        return unopened

    def _check_inputs(self, job: Job, earlier: Sequence[Measurement]) -> None:
        """Refuse inputs that will not be there; results of earlier measurements will be."""
        written = {self.file(part) for part in earlier}
        for source in job.inputs:
            path = source.path.resolve()
            if path == self.folder:
                raise ValueError(f"{source.argument} must not be the output folder, got {source}.")
            if not (path in written or path.exists() or source.is_attribute):
                raise ValueError(f"{source.argument} must be there, got {source}, which does not exist.")

    def measure(self, rules: Sequence[Rule]) -> int:
        """Measure, write, check; return the exit code. When one measurement fails, the others go on."""
        answers: dict[str, Answer] = {}
        failures: dict[str, str] = {}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(
                f"The output folder must be one that can be made, got {str(self.folder)!r} ({error.strerror})."
            ) from error
        for part in self.plan.measurements:
            try:
                answers[part.name] = self._measured(part)
            except Exception as error:
                if os.environ.get(DEBUG_VARIABLE):
                    raise
                _remove(self.file(part))
                failures[part.name] = message_of(error)
                self.say(f"      failed: {failures[part.name]}")
        return self._conclude(answers, failures, rules)

    def _measured(self, part: Measurement) -> Answer:
        """Measure and write one result, and print it."""
        parts = self.plan.measurements
        self.say(f"[{parts.index(part) + 1}/{len(parts)}] {part.name}: {part.kind}")
        started = time.perf_counter()
        answer: Answer = prepare(part, quiet=self.quiet, trust=self.trust).compute()
        answer.write_json(self.file(part))
        for number, result in enumerate(answer.results.values()):
            self.say(f"      {f'{result.title}: ' if number else ''}{result.headline()}")
        for note in answer.notes:
            self.say(f"      Note: {note}")
        self.say(f"      {time.perf_counter() - started:.1f} s")
        return answer.renamed(part.name)

    def _conclude(self, answers: dict[str, Answer], failures: dict[str, str], rules: Sequence[Rule]) -> int:
        """Check the rules, write the page, and print errors; return the exit code."""
        results = {name: result for answer in answers.values() for name, result in answer.results.items()}
        checked = check_results(results, rules) if rules else None
        for file in (self.junit, self.report):  # those of an earlier run would pass for new
            file.unlink(missing_ok=True)
        if checked is not None:
            checked.to_junit(self.junit)
        if results:
            facts = {
                "Configuration": self.plan.path.name,
                "Seed": "" if self.plan.seed is None else str(self.plan.seed),
                "Failed": ", ".join(failures),
            }
            context = Context(
                description=f"Measured as listed in {self.plan.path.name}.",
                facts={name: text for name, text in facts.items() if text},
                rows={
                    name: rows for answer in answers.values() for name, rows in answer.context.rows.items()
                },
                remarks={name: _remark(answer.context) for name, answer in answers.items()},
                rules=checked,
            )
            write_report(results, self.report, title=self.plan.title, context=context)
        if checked is not None:
            if not self.quiet:
                with reader_may_leave():
                    show_outcomes(checked)
            failures |= {f"rule {outcome.rule.name!r}": outcome.text for outcome in checked.errors}
        for what, file in (("JUnit", self.junit), ("Report", self.report), ("Results", self.folder)):
            if file.exists():
                near = file.is_relative_to(self.start)
                self.say(f"{what}: {file.relative_to(self.start) if near else file}")
        for name, message in failures.items():
            say_error(f"{name}: {message}")
        return EXIT_ERROR if failures else 0 if checked is None else checked.exit_code


def _remove(file: Path) -> None:
    """Remove the result of an earlier run, so that nobody takes it for new."""
    if file.is_file():
        has_arrays = names_arrays(file)
        file.unlink()
        if has_arrays:
            file.with_suffix(".npz").unlink(missing_ok=True)


def _remark(context: Context) -> str:
    """Return the description of a measurement, and its facts that the description does not hold, for its section."""
    text = context.description.casefold()
    facts = [f"{key}: {value}." for key, value in context.facts.items() if value.casefold() not in text]
    return " ".join([context.description, *facts])
