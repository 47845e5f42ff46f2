"""Put the fragments of this folder together as the section of a version in CHANGELOG.md, and remove them."""

import argparse
import datetime
from pathlib import Path

FOLDER = Path(__file__).parent
KINDS = ("added", "changed", "removed", "fixed")


def section(version: str, day: str, fragments: list[Path]) -> str:
    """Return the section of a version: one line for each fragment, under the heading of its kind."""
    lines = [f"## {version} ({day})", ""]
    for kind in KINDS:
        texts = [
            " ".join(path.read_text(encoding="utf-8").split())
            for path in fragments
            if path.suffixes[-2:] == [f".{kind}", ".md"]
        ]
        if texts:
            lines += [f"### {kind.capitalize()}", "", *(f"- {text}" for text in texts), ""]
    return "\n".join(lines)


def assemble(version: str, changelog: Path = FOLDER.parent / "CHANGELOG.md") -> None:
    """Write the section above that of the last version, then remove the fragments."""
    fragments = sorted(path for path in FOLDER.glob("*.md") if path.name != "README.md")
    unknown = [
        path.name for path in fragments if path.suffixes[-2:-1] not in [[f".{k}"] for k in KINDS]
    ]
    if unknown or not fragments:
        raise SystemExit(
            f"Fragments must be NAME.KIND.md with KIND in {KINDS}, got {unknown or 'none'}."
        )
    text = changelog.read_text(encoding="utf-8")
    head, mark, rest = text.partition("\n## ")
    new = section(version, f"{datetime.date.today()}", fragments)
    changelog.write_text(f"{head}\n{new}{mark}{rest}", encoding="utf-8")
    for path in fragments:
        path.unlink()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version")
    assemble(parser.parse_args().version)
