"""The built site at 420 and 1400 pixels: no text beyond the window or its box, nothing that axe-core calls serious.

`make test-all` builds the site first. One browser opens page after page in a frame. Text in a box that keys can
scroll is within reach.
"""

import html
import json
import re
import subprocess
from pathlib import Path

import pytest

from views.report.test_accessibility import BROWSER, axe_core

SITE = Path(__file__).resolve().parents[1] / "docs" / "_build" / "html"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="needs Chromium"),
    pytest.mark.skipif(not (SITE / "index.html").exists(), reason="the site is not built"),
]
KINDS = [
    "index",
    "which",
    "diff",
    "peers",
    "cli",
    "api/decisions",
    "gallery/index",
    "gallery/plot_diff",
]
WALK = """<!doctype html><pre id="answer"></pre><iframe id="frame" style="height: 900px; border: 0"></iframe>
<script>
const frame = document.getElementById("frame");
const found = {};
// The box that a text has to stay in: the first one around it that is no part of a line.
function blockOf(box, view) {
  while (box && /^(inline|contents|ruby)/.test(view.getComputedStyle(box).display)) box = box.parentElement;
  return box;
}
function isCut(range, box, view) {
  const places = [...range.getClientRects()].filter((one) => one.width > 1);
  for (let around = blockOf(box, view); around && around.localName !== "body"; around = around.parentElement) {
    const style = view.getComputedStyle(around);
    const within = around.getBoundingClientRect();
    // words for readers of screens alone
    if (within.width <= 1 || style.clip !== "auto") return false;
    // keys reach what this one scrolls to
    if (around.tabIndex >= 0 && /auto|scroll/.test(style.overflowX)) return false;
    const hides = style.overflowX !== "visible" || around === blockOf(box, view);
    if (hides && places.some((one) => one.right > within.right + 1 || one.left < within.left - 1)) return true;
    if (/hidden|clip/.test(style.overflowY) && places.some((one) => one.bottom > within.bottom + 2)) return true;
  }
  return false;
}
function meets(one, other) {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}
function covered(view) {
  const said = [];
  for (const button of view.document.querySelectorAll("button.copy")) {
    if (view.getComputedStyle(button).opacity === "0") continue;
    const range = view.document.createRange();
    range.selectNodeContents(button.parentElement.querySelector("pre"));
    const place = button.getBoundingClientRect();
    if ([...range.getClientRects()].some((one) => one.width > 1 && meets(place, one)))
      said.push("a button covers: " + button.parentElement.textContent.trim().slice(0, 60));
  }
  return said;
}
function outside(view) {
  const page = view.document;
  const texts = page.createTreeWalker(page.querySelector("article") || page.body, NodeFilter.SHOW_TEXT);
  const said = page.documentElement.scrollWidth > view.innerWidth ? ["the page scrolls sideways"] : [];
  while (texts.nextNode()) {
    const text = texts.currentNode.textContent.trim();
    let box = texts.currentNode.parentElement;
    if (!text || !box.checkVisibility()) continue;
    const range = page.createRange();
    range.selectNodeContents(texts.currentNode);
    if (!box.closest("svg, button") && isCut(range, box, view)) said.push("cut: " + text.slice(0, 60));
    const right = Math.max(0, ...[...range.getClientRects()].map((one) => one.right));
    // what scrolls within reach of the keyboard is not cut
    while (box && !(box.scrollWidth > box.clientWidth + 1 && box.tabIndex >= 0)) box = box.parentElement;
    if (!box && right > view.innerWidth + 1) said.push(text.slice(0, 60));
  }
  return said;
}
async function walk(pages, widths, axe) {
  for (const name of pages) {
    await new Promise((loaded) => { frame.onload = loaded; frame.src = name; });
    const view = frame.contentWindow;
    if (axe) view.eval(axe);
    for (const width of widths) {
      frame.style.width = width + "px";
      let said = outside(view).concat(covered(view));
      if (axe) {
        const checked = await view.eval("axe.run({resultTypes: ['violations']})");
        const grave = checked.violations.filter((one) => ["serious", "critical"].includes(one.impact));
        said = said.concat(grave.map((one) => one.id + ": " + one.nodes[0].html.slice(0, 120)));
      }
      found[name + " at " + width] = said;
    }
  }
  document.getElementById("answer").textContent = JSON.stringify(found);
}
</script>
"""


def walked(folder, pages, axe=""):
    """Open each page at both widths; return what was found, by page and width."""
    names = [page.as_uri() for page in pages]
    harness = folder / "walk.html"
    call = f"walk({json.dumps(names)}, [420, 1400], {json.dumps(axe)})".replace("</", "<\\/")
    harness.write_text(f"{WALK}<script>{call}</script>", encoding="utf-8")
    command = [
        *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1500,1000"),
        *("--allow-file-access-from-files", "--disable-web-security"),
        *("--virtual-time-budget=600000", f"--user-data-dir={folder / 'profile'}"),
        *("--dump-dom", harness.as_uri()),
    ]
    dom = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600).stdout
    answer = re.search(r'<pre id="answer">(.*?)</pre>', dom, re.DOTALL)[1]
    found = json.loads(html.unescape(answer))
    assert len(found) == 2 * len(names)
    return {place.removeprefix(SITE.as_uri()): said for place, said in found.items() if said}


CUT = {
    "hidden": "overflow: hidden; white-space: nowrap",
    "clipped": "overflow: clip; white-space: nowrap",
    "scrolled": "overflow-x: auto; white-space: nowrap",
    "outside": "white-space: nowrap",
    "wide": "width: 90vw; overflow: hidden; white-space: nowrap",
    "low": "overflow: hidden; height: 1em",
    "covered": "position: relative; padding-top: 0",
}
BUTTON = "<button class=copy style='position: absolute; right: 0; top: 0'>Copy</button>"


def test_text_that_a_narrow_box_or_a_button_hides_is_found(tmp_path):
    pages = []
    for name, style in CUT.items():
        for attribute in ("", "tabindex=0"):
            pages.append(tmp_path / f"{name}{'_by_keys' if attribute else ''}.html")
            words = "word " * (30 if name == "covered" else 60)
            inside = f"<pre style='margin: 0; white-space: pre-wrap'>{words}</pre>{BUTTON}"
            if name != "covered":
                inside = f"<b>{words}</b>"
            body = f"<div style='width: 200px; {style}' {attribute}>{inside}</div>"
            pages[-1].write_text(f"<!doctype html><article>{body}</article>", encoding="utf-8")
    found = walked(tmp_path, pages)
    hidden = {page.stem for page in pages} - {"scrolled_by_keys"}
    assert {Path(place.split(" at ")[0]).stem for place in found} == hidden
    for place, said in found.items():
        hides = "a button covers: " if "covered" in place else "cut: "
        assert f"{hides}word" in {text[: len(hides) + 4] for text in said}, place


def test_no_text_of_the_site_is_beyond_the_window(tmp_path):
    # every page written by hand; one template makes those of one function and of one example: of these every sixth
    pages = [page for page in sorted(SITE.rglob("*.html")) if "_static" not in page.parts]
    written = [page for page in pages if page.parent == SITE]
    assert len(written) > 40
    made = [page for page in pages if page.parent != SITE]
    assert walked(tmp_path, written + made[::6]) == {}


def test_axe_core_finds_nothing_serious_on_any_kind_of_page(tmp_path):
    library = axe_core()
    if library is None:
        pytest.skip("needs axe-core from npm (AXE_CORE=.../axe.min.js, or npm install --global)")
    pages = [SITE / f"{name}.html" for name in KINDS]
    assert walked(tmp_path, pages, library.read_text("utf-8")) == {}
