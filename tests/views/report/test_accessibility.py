"""The page of every kind in a browser: no finding of axe-core at two widths, light and dark, and nothing cut off."""

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from every_kind import KINDS, context_of, tokens
from shiftmetrics.views.report import render_report

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
EACH = [
    name
    for name in KINDS
    if ":" not in name or name.endswith((": labelled", ": changed", ": samples"))
]
"""One of each kind."""
SCHEMES = {"light": "1", "dark": "0"}
PROBE = """
<script>%s</script>
<script>
addEventListener("load", async () => {
  const page = document.documentElement;
  const found = await axe.run();
  parent.postMessage(JSON.stringify({
    width: innerWidth,
    dark: matchMedia("(prefers-color-scheme: dark)").matches,
    overflow: page.scrollWidth - page.clientWidth,
    cut: [
      ...[...document.querySelectorAll("caption > span")].filter(
        (one) => one.getBoundingClientRect().right > innerWidth),
      ...[...document.querySelectorAll("svg text")].filter(
        (one) => one.getBoundingClientRect().right > one.closest("svg").getBoundingClientRect().right + 2),
      // text outside its box, but for boxes that scroll and words for readers alone
      ...[...document.querySelectorAll("main *, header *")].filter((one) =>
        one.children.length === 0 && one.textContent.trim() && !one.closest("svg, .scroll, .unseen") &&
        one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== "inline"),
    ].map((one) => one.textContent),
    checked: found.passes.length,
    violations: found.violations.map((one) => one.id + ": " + one.nodes.map((node) => node.html.slice(0, 120))),
  }), "*");
});
</script>
"""
FRAME = """<!doctype html><meta name="color-scheme" content="light dark"><pre id="answer"></pre>
<script>addEventListener("message", (event) => {
  document.getElementById("answer").textContent = event.data;
});</script>
<iframe src="page.html" style="width: %dpx; height: 900px; border: 0"></iframe>
"""
"""The page in a frame: a window of Chromium is not narrower than 500 pixels."""


def axe_core() -> Path | None:
    """Find axe-core where npm installed it: AXE_CORE names the file, or it is among the global packages."""
    places = [os.environ.get("AXE_CORE", "")]
    if shutil.which("npm"):
        root = subprocess.run(
            ["npm", "root", "--global"], capture_output=True, text=True, check=False
        )
        places.append(f"{root.stdout.strip()}/axe-core/axe.min.js")
    return next((Path(place) for place in places if place and Path(place).is_file()), None)


# a page of several results, and one of each kind, which leads with its answer
PAGES = ["all", *(pytest.param(name, marks=pytest.mark.slow) for name in (*EACH, "tokens"))]


@pytest.fixture(scope="module", params=PAGES)
def probed(request, results, context, tmp_path_factory):
    """The page with axe-core inside. The page itself forbids scripts, so that rule is taken out of the copy."""
    library = axe_core()
    if BROWSER is None or library is None:
        pytest.skip(
            "needs Chromium, and axe-core from npm (AXE_CORE=.../axe.min.js, or npm install --global)"
        )
    shown = results
    if request.param != "all":
        context = context_of(request.param)
        make = KINDS.get(request.param, lambda: tokens(tmp_path_factory.mktemp("logs")))
        shown = {request.param: make()}
    page = re.sub(
        r"<meta http-equiv[^>]*>", "", render_report(shown, title="Pets", context=context)
    )
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(
        page.replace("</body>", PROBE % library.read_text("utf-8") + "</body>"), encoding="utf-8"
    )
    return path


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [420, 1400])
def test_axe_core_finds_nothing(probed, width, scheme):
    frame = probed.with_name(f"{width}.html")
    frame.write_text(FRAME % width, encoding="utf-8")
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1500,1000",
        f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}", "--virtual-time-budget=20000", "--dump-dom",
        f"--user-data-dir={probed.parent / 'profile'}", frame.as_uri(),
    ]  # fmt: skip
    dom = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    answer = json.loads(
        html.unescape(re.search(r'<pre id="answer">(.*?)</pre>', dom, re.DOTALL)[1])
    )
    assert answer["width"] == width
    assert answer["dark"] == (scheme == "dark")
    assert answer["checked"] > 15
    assert answer["overflow"] <= 0
    assert answer["cut"] == []
    assert answer["violations"] == []
