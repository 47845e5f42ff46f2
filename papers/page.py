"""Build the pages of what was reproduced from the kept results: ``python papers/page.py [--check]``.

Nothing is computed here: the experiments keep numbers in ``papers/results`` and pictures in ``docs/reproduction``.
``reproduction.md`` has a table of verdicts and the main claims of each subject, and the errors of the documents; each
subject has a page of all its claims.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any

from _counts import income, infinity, training
from _rows import HEAD, VERDICTS, cell, claims_of, row
from _table_1 import table as table_1
from index import DOCUMENTS, ENTRIES, ERRATA, FOLDER, Entry

DOCS = FOLDER.parent / "docs"
PICTURES = DOCS / "reproduction"
RESULTS = FOLDER / "results"
SUBJECTS = {
    "Posterior agreement": ("agreement", ("preprint", "paper", "thesis")),
    "Stability": ("stability", ("stability",)),
    "Novelty": ("novelty", ("novelty",)),
    "Together": ("together", ("",)),
}
TABLES = {
    "selection_overlap": table_1,
    "stability_income": income,
    "stability_infinity": infinity,
    "stability_training": training,
}
"""What stands below the claims of an experiment, from its record."""

MARK = "<!-- built by papers/page.py from papers/results: do not edit -->"

INTRODUCTION = f"""\
# The papers, reproduced

{MARK}

Every numbered figure and table of the papers behind this library, each once: what it claims, what we found, and
whether it holds. A claim is an inequality that was written down before anything was computed; but for appendix F.2,
whose powers and margin were set after one seed had been seen, and for what the table of changes says was put anew.

- It **holds** where the whole 95 % interval over the seeds satisfies the inequality, **does not hold** where none of
  it does, and is **undecided** otherwise.
- It is **not at the printed size** where the document prints the number itself and our interval leaves it out, though
  the inequality may hold; *Why* says whether the direction does.
- "X is best" is one interval for each rival, and holds where all of them do; the rival named is the one that comes
  closest. "Does not change" is an equivalence test, with its margin. Counts of seeds have the exact binomial
  interval.
- A bound other than 0 or 1 has its source beside it; where the document gives none it is ours, and the row says for
  which bounds the verdict would be which.
- **Not testable here** are claims that our set-up cannot answer whatever the truth is: experiments at chance,
  identities, and claims about models or data by name that stand-ins cannot carry.
- *Printed* is the document's number, or its words where it has none; a dash where a figure alone shows it, or where
  the claim is ours.
- Definitions, and numbers that are the same in every seed, are *checks*; what no document claims is *ours*. Neither
  is counted.

Networks and data are smaller than the papers' where theirs cannot be had: a verdict is about the claim, not about
their numbers, unless it says so. What stands for what, and at which size, is said with each experiment;
`papers/DATA.md` says which data folders there are and how to run with the papers' own. Below each experiment stand
the version and the commit of the sources that computed it; the tests say which are older than the measure they use. A
first seed comes out as before where it gives the kept numbers, and alike on one machine where the earlier sources and
the later ones give the same there: networks trained on another processor differ from the kept ones by themselves.

`make papers` runs all experiments, `make papers ONLY="agreement_noise"` one of them; each is a short script in
`papers/`. Times are those of one processor core.
"""


def build() -> dict[str, str]:
    """Return the text of each page, by file name."""
    found = {entry.script: _result(entry.script) for entry in ENTRIES if entry.script}
    pages = {"reproduction.md": _overview(found)}
    for subject, (name, documents) in SUBJECTS.items():
        entries = _entries(documents)
        parts = [f"# {subject}: the papers, reproduced\n", MARK, ""]
        parts.append(_counts({subject: entries}, found))
        parts += ["How claims are judged: [the papers, reproduced](reproduction.md).\n"]
        parts += [_places(entries)] if any(entry.labels for entry in entries) else []
        parts += [_section(entry, found.get(entry.script)) for entry in entries]
        pages[f"reproduction_{name}.md"] = "\n".join(parts)
    return pages


def _overview(found: Mapping[str, Any]) -> str:
    """Return the first page: verdicts and main claims of each subject, and the errors."""
    minutes = sum(record["seconds"] for record in found.values() if record) / 60
    parts = [INTRODUCTION, f"All experiments together take {minutes:.0f} minutes of one core.\n"]
    by_subject = {
        f"[{subject}](reproduction_{name}.md)": _entries(documents)
        for subject, (name, documents) in SUBJECTS.items()
    }
    parts += ["## At a glance\n", _counts(by_subject, found)]
    parts.append("The claims that each document is about follow; all others stand on its page.\n")
    for subject, (name, documents) in SUBJECTS.items():
        rows = [
            row(
                claim,
                entry,
                record,
                f"[{claim['sentence']}](reproduction_{name}.md#{_anchor(entry)})",
            )
            for entry in _entries(documents)
            if (record := found.get(entry.script))
            for claim in claims_of(record)
            if claim["main"]
        ]
        if rows:
            parts += [f"## {subject}: the main claims\n", *HEAD, *rows, ""]
    parts += [_changes(found)]
    parts.append("## Errors in the documents\n")
    parts.append("Words in quotation marks are as printed.\n")
    for document, title in DOCUMENTS.items():
        errata = [one for one in ERRATA if one.document == document]
        if errata:
            rows = [
                f"| {one.where} | {cell(one.printed)} | {cell(one.right)} | {_shown(one.shown_by)} |"
                for one in errata
            ]
            head = "| Where | Printed | Right | Shown by |\n|---|---|---|---|"
            parts.append("\n".join([f"### {title}\n", head, *rows, ""]))
    toctree = "\n".join(f"reproduction_{name}" for name, _ in SUBJECTS.values())
    parts.append(f"```{{toctree}}\n:hidden:\n\n{toctree}\n```\n")
    return "\n".join(parts)


def _entries(documents: tuple[str, ...]) -> list[Entry]:
    return [entry for entry in ENTRIES if "".join(entry.labels[:1]).partition(" ")[0] in documents]


def _result(script: str) -> dict[str, Any] | None:
    kept = RESULTS / f"{script}.json"
    return json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else None


def _counts(by_subject: Mapping[str, list[Entry]], found: Mapping[str, Any]) -> str:
    """Return a line for each subject of how many claims have which verdict, without checks and what is ours."""
    columns = ["", *VERDICTS, "figures not possible here", "checks", "ours"]
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    for subject, entries in by_subject.items():
        records = [record for entry in entries if (record := found.get(entry.script))]
        claims = [claim for record in records for claim in claims_of(record)]
        verdicts = Counter(claim["verdict"] for claim in claims if not claim["kind"])
        kinds = Counter(claim["kind"] for claim in claims if claim["kind"])
        missing = sum(len(entry.labels) for entry in entries if not entry.script)
        cells = [verdicts[verdict] for verdict in VERDICTS] + [missing]
        cells += [kinds["check"], kinds["ours"]]
        lines.append(f"| {subject} | {' | '.join(map(str, cells))} |")
    return "\n".join([*lines, ""])


def _changes(found: Mapping[str, Any]) -> str:
    """Return the verdicts that changed since the first version of these pages, each with its reason."""
    lines = ["## Verdicts that changed\n", "Since the first version of these pages.\n"]
    lines += ["| Claim | First | Now | Why it changed |", "|---|---|---|---|"]
    for name, documents in SUBJECTS.values():
        for entry in _entries(documents):
            for claim in claims_of(found[entry.script]) if found.get(entry.script) else ():
                if claim["was"] and claim["was"] != claim["verdict"]:
                    link = f"[{claim['sentence']}](reproduction_{name}.md#{_anchor(entry)})"
                    cells = (link, claim["was"], claim["verdict"], claim["changed"])
                    lines.append(f"| {' | '.join(cell(text) for text in cells)} |")
    return "\n".join([*lines, ""])


def _places(entries: list[Entry]) -> str:
    """Return the figures and tables of each document, each a link to its experiment."""
    by_document: dict[str, list[str]] = {}
    for label in sorted((label for entry in entries for label in entry.labels), key=_in_order):
        document, _, place = label.partition(" ")
        by_document.setdefault(document, []).append(f"[{place}](#{_label_anchor(label)})")
    lines = [f"- {DOCUMENTS[name]}: {', '.join(links)}" for name, links in by_document.items()]
    return "\n".join(["Where each figure and table is:\n", *lines, ""])


def _anchor(entry: Entry) -> str:
    return entry.script.replace("_", "-") or _label_anchor(entry.labels[0])


def _label_anchor(label: str) -> str:
    """Return the anchor of a figure or table, such as thesis-table-4-2."""
    return label.lower().replace(" ", "-").replace(".", "-")


def _section(entry: Entry, record: dict[str, Any] | None) -> str:
    """Return what stands on the page for one entry."""
    anchors = dict.fromkeys([_anchor(entry), *map(_label_anchor, entry.labels)])
    lines = [*(f"({anchor})=" for anchor in anchors), f"## {entry.title}\n"]
    if entry.labels:
        lines.append(f"*{'; '.join(_words(label) for label in entry.labels)}.*\n")
    if not entry.script:
        return "\n".join([*lines, f"Not possible here: {entry.reason}\n"])
    script = (FOLDER / f"{entry.script}.py").read_text(encoding="utf-8")
    about = ast.get_docstring(ast.parse(script)) or ""
    lines += [f"{paragraph}\n" for paragraph in about.split("\n\n")[1:]]
    if entry.real:
        about_real = "With the document's own models and data (`papers/DATA.md`), run it with"
        lines.append(f"{about_real} `python {entry.real}`.\n")
    if record is None:
        return "\n".join([*lines, "Not reproduced yet.\n"])
    lines += [*HEAD, *(row(claim, entry, record, claim["sentence"]) for claim in claims_of(record))]
    if entry.script in TABLES:
        lines += ["", TABLES[entry.script](record)]
    lines.append(f"\n`papers/{entry.script}.py`, {record['seconds']:.0f} s, {_made(record)}.\n")
    shown = [f"{one.document}, {one.where}" for one in ERRATA if one.shown_by == entry.script]
    if shown:
        errors = "[errors of the documents](reproduction.md#errors-in-the-documents)"
        lines.append(f"Shows {errors}: {'; '.join(shown)}.\n")
    if (PICTURES / f"{entry.script}.png").is_file():
        lines.append(f"![{entry.title}](reproduction/{entry.script}.png)\n")
    return "\n".join(lines)


def _made(record: Mapping[str, Any]) -> str:
    """Return by which sources a result was computed, and by which its first seed came out as before."""
    made = f"by version {record['version']}, commit {record['commit']}"
    again = record.get("confirmed")
    how = record.get("comes_out", "as before")
    return f"{made}; the first seed comes out {how} at {again}" if again else made


def _in_order(label: str) -> list[Any]:
    """Return what orders figures and tables as a document has them: 4.2 before 4.10, B.1 after 5.12."""
    document, kind, number = label.split()
    parts = number.split(".")
    return [list(DOCUMENTS).index(document), kind] + [
        (0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts
    ]


def _shown(by: str) -> str:
    return "the documents themselves" if by == "itself" else f"`{by}`"


def _words(label: str) -> str:
    document, kind, number = label.split()
    return f"{document}, {kind} {number}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="only say whether the pages are up to date"
    )
    pages = build()
    if parser.parse_args().check:
        stale = [
            name
            for name, text in pages.items()
            if not (DOCS / name).is_file() or (DOCS / name).read_text(encoding="utf-8") != text
        ]
        print(
            f"out of date: {', '.join(stale)}; run python papers/page.py" if stale else "up to date"
        )
        return 1 if stale else 0
    for name, text in pages.items():
        (DOCS / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
