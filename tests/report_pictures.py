"""Pictures of the page of every kind of result: light, dark and printed, as wide as a phone and as a desk.

They are made to be looked at: `make pictures`. Without Chromium there are the pages alone.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

import every_kind
from shiftmetrics.views import Context, write_report

WIDTHS = (420, 1400)
SCHEMES = ("light", "dark", "print")
HEIGHT = 2400
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SEVERAL = ("diff: labelled", "agreement", "stability", "novelty", "compare")
"""What the page of `shiftmetrics run` is made of."""

FRAME = """<!doctype html><meta name="color-scheme" content="light dark"><body style="margin: 0">
<iframe src="{page}" style="width: {width}px; height: {height}px; border: 0"></iframe>
"""
"""The page in a frame: a window of Chromium is not narrower than 500 pixels."""


def pages(folder: Path, names: list[str]) -> list[Path]:
    """Write the page of each kind whose name holds one of the names, and that of several results."""
    made = {"tokens": every_kind.tokens(folder)}
    written = []
    for name in (*every_kind.KINDS, "tokens", "several"):
        if names and not any(part in name for part in names):
            continue
        path = folder / f"{name.replace(': ', '_').replace(' ', '_')}.html"
        if name == "several":
            results = {part: every_kind.KINDS[part]() for part in SEVERAL}
            context = Context(command="shiftmetrics run config.toml")
        else:
            results = {name: made.get(name) or every_kind.KINDS[name]()}
            context = every_kind.context_of(name)
        written.append(write_report(results, path, title=f"The page of {name}", context=context))
    return written


def as_printed(page: str) -> str:
    """Return a page that a screen shows as paper does."""
    light = page.replace("@media screen and (prefers-color-scheme: dark)", "@media not all")
    return light.replace("@media print", "@media all")


def picture(browser: str, page: Path, width: int, scheme: str) -> Path:
    """Take a picture of a page."""
    target = page.with_name(f"{page.stem}-{width}-{scheme}.png")
    with tempfile.TemporaryDirectory() as folder:
        shown = Path(folder) / "page.html"
        text = page.read_text(encoding="utf-8")
        shown.write_text(as_printed(text) if scheme == "print" else text, encoding="utf-8")
        frame = Path(folder) / "frame.html"
        frame.write_text(FRAME.format(page=shown.as_uri(), width=width, height=HEIGHT))
        is_dark = scheme == "dark"
        command = [
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            f"--blink-settings=preferredColorScheme={0 if is_dark else 1}", f"--user-data-dir={folder}/profile",
            f"--window-size={max(width, 500)},{HEIGHT}", f"--screenshot={target}", frame.as_uri(),
        ]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    return target


def main() -> None:
    """Write the pages and, where there is a browser, their pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("build/pictures"))
    parser.add_argument("names", nargs="*", help="parts of names of kinds; default: all")
    typed = parser.parse_args()
    typed.output.mkdir(parents=True, exist_ok=True)
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    for page in pages(typed.output, typed.names):
        print(page)
        for width in WIDTHS if browser else ():
            for scheme in SCHEMES:
                print(" ", picture(browser, page, width, scheme))


if __name__ == "__main__":
    main()
