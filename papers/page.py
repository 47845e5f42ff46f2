"""Build the page of what was reproduced from the kept results: ``python papers/page.py [--check]``.

Nothing is computed here: the experiments keep numbers in ``papers/results`` and pictures in ``docs/reproduction``.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from collections import Counter
from typing import Any

from index import DOCUMENTS, ENTRIES, ERRATA, FOLDER, Entry

DOCS = FOLDER.parent / "docs"
PAGE = DOCS / "reproduction.md"
PICTURES = DOCS / "reproduction"
RESULTS = FOLDER / "results"
SUBJECTS = {
    "Posterior agreement": ("preprint", "paper", "thesis"),
    "Stability": ("stability",),
    "Novelty": ("novelty",),
    "Together": ("",),
}

INTRODUCTION = """\
# The papers, reproduced

<!-- built by papers/page.py from papers/results: do not edit -->

Every numbered figure and table of the papers behind this library, each once: what it claims, what we found, and
whether it holds. A claim is written down as an inequality before anything is computed. It **holds** where the
whole 95 % interval over the seeds satisfies the inequality, **does not hold** where none of it does, and is
**undecided** otherwise. Networks and data are smaller than the papers' where theirs cannot be had: a verdict is
about the claim, not about their numbers.

Attacks are on digits of 8 by 8 pixels, and once on photographs of CIFAR-10; a network of 128 hidden units, the same
trained on its own worst cases, and the first behind JPEG and a reverse sigmoid stand for the papers' networks. Domain
shift and model selection take digits with hue, lightness, position, scale and texture under control, and networks of
three convolutions that see 16 by 16 pixels for 12 to 24 epochs. What else stands for what, and at which size, is said
with each experiment.

`make papers` runs all experiments, `make papers ONLY="agreement_noise"` one of them; each is a script of at most 150
lines in `papers/`. Times are those of one processor core. The errors that we found in the documents stand at the end.
"""


def build() -> str:
    """Return the text of the page."""
    found = {entry.script: _result(entry.script) for entry in ENTRIES if entry.script}
    verdicts = Counter(
        claim["verdict"]
        for record in found.values()
        if record
        for claim in record["claims"].values()
    )
    counts = ", ".join(
        f"{verdicts[verdict]} {verdict}" for verdict in ("holds", "does not hold", "undecided")
    )
    minutes = sum(record["seconds"] for record in found.values() if record) / 60
    parts = [
        INTRODUCTION,
        f"Claims: {counts}. All experiments together take {minutes:.0f} minutes of one core.\n",
    ]
    for subject, documents in SUBJECTS.items():
        parts.append(f"\n## {subject}\n")
        entries = (
            entry for entry in ENTRIES if "".join(entry.labels[:1]).partition(" ")[0] in documents
        )
        parts += [_section(entry, found.get(entry.script)) for entry in entries]
    parts.append("\n## Errors in the documents\n")
    for document, title in DOCUMENTS.items():
        errata = [one for one in ERRATA if one.document == document]
        if errata:
            rows = [
                f"| {one.where} | {one.printed} | {one.right} | `{one.shown_by}` |"
                for one in errata
            ]
            head = "| Where | Printed | Right | Shown by |\n|---|---|---|---|"
            parts.append("\n".join([f"### {title}\n", head, *rows, ""]))
    return "\n".join(part for part in parts if part)


def _result(script: str) -> dict[str, Any] | None:
    kept = RESULTS / f"{script}.json"
    return json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else None


def _section(entry: Entry, record: dict[str, Any] | None) -> str:
    """Return what stands on the page for one entry."""
    lines = [f"### {entry.title}\n"]
    if entry.labels:
        lines.append(f"*{'; '.join(_words(label) for label in entry.labels)}.*\n")
    if not entry.script:
        return "\n".join([*lines, f"Not reproduced: {entry.reason}\n"])
    about = (
        ast.get_docstring(ast.parse((FOLDER / f"{entry.script}.py").read_text(encoding="utf-8")))
        or ""
    )
    lines += [f"{paragraph}\n" for paragraph in about.split("\n\n")[1:]]
    if record is None:
        return "\n".join([*lines, "Not reproduced yet.\n"])
    lines += ["| Claim | Measured | Verdict |", "|---|---|---|"]
    for claim in record["claims"].values():
        interval = "" if claim["low"] is None else f" [{claim['low']:.3g}, {claim['high']:.3g}]"
        bound = f"claimed {claim['relation']} {claim['bound']:g}"
        measured = f"{claim['statistic']}: {claim['mean']:.4g}{interval}; {bound}"
        cells = [cell.replace("|", r"\|") for cell in (claim["sentence"], measured)]
        lines.append(f"| {' | '.join(cells)} | **{claim['verdict']}** |")
    seeds = len(record["runs"])
    how = "nothing is drawn at random" if seeds == 1 else f"{seeds} seeds"
    lines.append(f"\n`papers/{entry.script}.py`, {how}, {record['seconds']:.0f} s.\n")
    shown = [f"{one.document}, {one.where}" for one in ERRATA if one.shown_by == entry.script]
    if shown:
        lines.append(f"Shows errors of the documents (below): {'; '.join(shown)}.\n")
    if (PICTURES / f"{entry.script}.png").is_file():
        lines.append(f"![{entry.title}](reproduction/{entry.script}.png)\n")
    return "\n".join(lines)


def _words(label: str) -> str:
    document, kind, number = label.split()
    return f"{document}, {kind} {number}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="only say whether the page is up to date"
    )
    text = build()
    if parser.parse_args().check:
        fresh = PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text
        print(
            "the page is up to date"
            if fresh
            else "the page is out of date: run python papers/page.py"
        )
        return 0 if fresh else 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
