"""The command ``shiftmetrics run CONFIG``: the measurements of one file, their report, and the rules they meet."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from shiftmetrics.tools.cli.check import show_outcomes
from shiftmetrics.tools.cli.config import Config, Measurement, prepare, read_config
from shiftmetrics.tools.cli.errors import EXIT_ERROR, message_of, reader_may_leave, say_error
from shiftmetrics.tools.cli.objects import UntrustedError
from shiftmetrics.tools.cli.outputs import CommandAnswer, check_outputs, say
from shiftmetrics.tools.cli.signature import command
from shiftmetrics.tools.cli.sources import Source
from shiftmetrics.tools.rules import Rule, check_results, read_rules
from shiftmetrics.tools.rules.rule import check_names
from shiftmetrics.views import Context, write_report

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
    place = output or config.parent / plan.output
    session = Session(
        plan=plan,
        place=place,
        folder=place.resolve(),
        quiet=quiet or dry_run,
        trust=False if dry_run else trust or plan.trust or None,
    )
    with contextlib.chdir(config.parent):
        if session.folder.exists() and not session.folder.is_dir():
            raise ValueError(f"The output must be a folder, got the file {str(session.folder)!r}.")
        session.check_outputs(plan.measurements)
        rules = _rules_of(plan)
        unopened = session.read_inputs()
        if not dry_run:
            raise typer.Exit(session.measure(rules))
    checked = f"Measurements with their inputs in order: {len(plan.measurements) - len(unopened)}."
    say(f"{checked} Nothing was computed or written.")
    for name in unopened:
        say(
            f"Not checked: {name}. It opens Python objects, which runs their code: no dry run does that."
        )


def _rules_of(plan: Config) -> list[Rule]:
    """Read the rules that the file names, and those in it."""
    rules = [] if plan.rules is None else list(read_rules(plan.rules))
    if plan.inline_rules:
        rules += read_rules({"rule": plan.inline_rules})
        check_names(rules, plan.path.name)
    return rules


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
        Whether to print nothing but errors, and to ask nothing.
    trust : bool or None
        Whether Python objects are opened; None leaves that to each measurement.
    """

    plan: Config
    place: Path
    folder: Path
    quiet: bool
    trust: bool | None

    def file(self, part: Measurement) -> Path:
        """Return where the result of a measurement goes."""
        return self.folder / f"{part.name}.json"

    def say(self, line: str) -> None:
        """Print a line, unless --quiet."""
        if not self.quiet:
            with reader_may_leave():
                say(line)

    def check_outputs(self, parts: Sequence[Measurement], inputs: Sequence[Source] = ()) -> None:
        """Refuse to replace files of other origin, or inputs; results of ``parts`` are still to be written."""
        if self.folder.exists():  # else it holds nothing
            check_outputs(
                {"Its report": self.folder / REPORT, "JUnit": self.folder / JUNIT}, inputs
            )
            for part in parts:
                check_outputs({"--json": self.file(part)}, inputs)

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
        written: set[Path] = set()  # by the measurements before: a comparison may read them
        for number, part in enumerate(self.plan.measurements):
            try:
                job = prepare(part, quiet=self.quiet, trust=self.trust)
                self.check_outputs(self.plan.measurements[number:], job.inputs)
                for source in job.inputs:
                    path = source.path.resolve()
                    if not (path in written or path.exists() or source.is_attribute):
                        raise ValueError(
                            f"{source.argument} must be there, got {source}, which does not exist."
                        )
            except Exception as error:
                if self.trust is False and isinstance(error, UntrustedError):
                    unopened.append(part.name)
                else:
                    raise ValueError(f"{part.kind} {part.name!r}: {message_of(error)}") from error
            written.add(self.file(part))
        return unopened

    def measure(self, rules: Sequence[Rule]) -> int:
        """Measure, write, check; return the exit code. When one measurement fails, the others go on."""
        answers: dict[str, CommandAnswer] = {}
        failures: dict[str, str] = {}
        parts = self.plan.measurements
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(
                f"The output folder must be one that can be made, got {str(self.folder)!r} ({error.strerror})."
            ) from error
        for number, part in enumerate(parts, start=1):
            self.say(f"[{number}/{len(parts)}] {part.name}: {part.kind}")
            started, file = time.perf_counter(), self.file(part)
            try:
                answer: CommandAnswer = prepare(part, quiet=self.quiet, trust=self.trust).compute()
                answer.write_json(file)
            except Exception as error:
                for old in (
                    file,
                    file.with_suffix(".npz"),
                ):  # of an earlier run: nobody takes it for new
                    old.unlink(missing_ok=True)
                failures[part.name] = message_of(error)
                self.say(f"      failed: {failures[part.name]}")
                continue
            for place, result in enumerate(answer.results.values()):
                self.say(f"      {f'{result.title}: ' if place else ''}{result.headline()}")
            for note in answer.notes:
                self.say(f"      Note: {note}")
            self.say(f"      {time.perf_counter() - started:.1f} s")
            answers[part.name] = answer.renamed(part.name)
        return self._conclude(answers, failures, rules)

    def _conclude(
        self, answers: dict[str, CommandAnswer], failures: dict[str, str], rules: Sequence[Rule]
    ) -> int:
        """Check the rules, write the page, and print errors; return the exit code."""
        results = {
            name: result for answer in answers.values() for name, result in answer.results.items()
        }
        checked = check_results(results, rules) if rules else None
        page, junit = self.folder / REPORT, self.folder / JUNIT
        for file in (page, junit):  # those of an earlier run would pass for new
            file.unlink(missing_ok=True)
        if checked is not None:
            checked.to_junit(junit)
        if results:
            facts = {
                "Configuration": self.plan.path.name,
                "Seed": "" if self.plan.seed is None else str(self.plan.seed),
                "Failed": ", ".join(failures),
            }
            rows = {
                name: part
                for answer in answers.values()
                for name, part in answer.context.rows.items()
            }
            context = Context(
                description=f"Measured as listed in {self.plan.path.name}.",
                facts={name: text for name, text in facts.items() if text},
                rows=rows,
                remarks={name: _remark(answer.context) for name, answer in answers.items()},
                rules=checked,
            )
            write_report(results, page, title=self.plan.title, context=context)
        if checked is not None:
            if not self.quiet:
                with reader_may_leave():
                    show_outcomes(checked)
            failures |= {f"rule {outcome.rule.name!r}": outcome.text for outcome in checked.errors}
        for what, name in {"JUnit": JUNIT, "Report": REPORT, "Results": ""}.items():
            if (self.folder / name).exists():
                self.say(f"{what}: {self.place / name}")
        for name, message in failures.items():
            say_error(f"{name}: {message}")
        return EXIT_ERROR if failures else 0 if checked is None else checked.exit_code


def _remark(context: Context) -> str:
    """Return the description of a measurement, and its facts that the description does not hold, for its section."""
    text = context.description.casefold()
    facts = [
        f"{key}: {value}." for key, value in context.facts.items() if value.casefold() not in text
    ]
    return " ".join([context.description, *facts])
