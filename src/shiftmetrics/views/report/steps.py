"""Commands in what to do now: with the files that were given, and as what was typed goes on."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence


def command_in(step: str) -> tuple[str, str, str]:
    """Split a step into what stands before a command, the command, and what follows it.

    Examples
    --------
    >>> command_in("Find what changed: shiftmetrics audit may.csv june.csv.")
    ('Find what changed: ', 'shiftmetrics audit may.csv june.csv', '.')
    >>> command_in("Ship it.")
    ('Ship it.', '', '')
    """
    # a command ends the sentence, or comes before one that begins with a capital
    found = re.fullmatch(
        r"(.*?)(shiftmetrics [a-z]+ .*?)(\.?(?:\s+[A-Z][a-z].*)?)", step, re.DOTALL
    )
    return (found[1], found[2], found[3]) if found else (step, "", "")


def with_files(
    steps: Sequence[str], files: Mapping[str, str], command: str = ""
) -> tuple[str, ...]:
    """Return steps that can be typed: what was typed goes on, and all else names the files that were given.

    Parameters
    ----------
    steps : sequence of str
        Steps whose commands name arguments, such as REFERENCE.
    files : mapping of str to str
        The file of each argument.
    command : str
        What was typed. A step of the same command keeps its options and adds its own; one whose option was typed has
        been done, and is left out.

    Examples
    --------
    >>> with_files(("Type: shiftmetrics audit REFERENCE CURRENT.",), {"REFERENCE": "may.csv"})
    ('Type: shiftmetrics audit may.csv CURRENT.',)
    >>> write = "Write: shiftmetrics diff OLD NEW --changed rows.csv"
    >>> with_files((write,), {}, "shiftmetrics diff a.csv b.csv --id n")
    ('Write: shiftmetrics diff a.csv b.csv --id n --changed rows.csv',)
    >>> answer = "Then: shiftmetrics diff OLD NEW --labels rows.csv"
    >>> with_files((write, answer), {}, "shiftmetrics diff a.csv b.csv --changed c.csv")
    ('Then: shiftmetrics diff a.csv b.csv --labels c.csv',)
    """
    typed = [word for word in _words(command) if word not in ("-q", "--quiet")]
    named = []
    for step in steps:
        before, asked, after = command_in(step)
        start, dashes, options = asked.partition(" --")
        if not options or start.split()[:2] != typed[:2]:
            named.append(_with_names(step, files))
            continue
        option, _, value = options.partition(" ")
        place = _place_of(f"--{option}", typed)
        if place is None:
            again = _with_names(f"{dashes}{options}", files)
            named.append(f"{before}{shlex.join(typed)}{again}{after}")
        elif value:
            # it has been written: later steps read it, and must not write over it
            words = typed[place : place + 2]
            if "=" in words[0]:
                words = [words[0], words[0].partition("=")[2]]
                typed = [*typed[:place], *typed[place + 1 :]]
            else:
                typed = [*typed[:place], *typed[place + 2 :]]
            files = {**files, re.escape(value): words[-1]}
    return tuple(named)


def _words(command: str) -> list[str]:
    """Return the words of what was typed; none where it is no command line."""
    try:
        return shlex.split(command)
    except ValueError:
        return []


def _place_of(option: str, typed: Sequence[str]) -> int | None:
    """Return the place of the word that holds an option; None where it was not typed."""
    names = [word.partition("=")[0] for word in typed]
    return names.index(option) if option in names else None


def _with_names(text: str, files: Mapping[str, str]) -> str:
    """Return a text in which arguments are the files that were given."""
    for argument, file in files.items():
        # a file may hold signs that a pattern would read
        quoted = shlex.quote(file).replace("\\", r"\\")
        text = re.sub(rf"(?<![\w-]){argument}(?!\w)", quoted, text)
    return text
