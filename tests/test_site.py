"""What the site is made of: formulas without a network, code that can be copied, examples that run from a clone."""

import importlib.util
import json
import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.fixture(scope="module")
def formulas():
    """Return the extension of the documentation, which is no package."""
    place = importlib.util.spec_from_file_location("formulas", DOCS / "_ext" / "formulas.py")
    module = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)
    return module


def formulas_of(text: str) -> list[str]:
    """Return what stands between dollars on a page, outside code."""
    text = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
    blocks = re.findall(r"\$\$(.+?)\$\$", text, re.DOTALL)
    text = re.sub(r"\$\$.+?\$\$", "", text, flags=re.DOTALL)
    return [*blocks, *re.findall(r"(?<![\\\w])\$([^$]+?)\$(?!\d)", text, re.DOTALL)]


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_every_formula_is_drawn_without_a_network(formulas, page):
    for formula in formulas_of(page.read_text(encoding="utf-8")):
        for part in formulas.parts_of(formula):
            drawing = ElementTree.fromstring(formulas.drawn(part))
            assert len(drawing[0].get("d")) > 20
            # a reader that cannot see has the source
            assert drawing.get("aria-label") == " ".join(part.split())


def test_a_formula_is_as_large_as_its_text(formulas):
    one = ElementTree.fromstring(formulas.drawn("x"))
    long = ElementTree.fromstring(formulas.drawn("x + x + x + x"))
    width, wider = (
        float(re.search(r"width:([\d.]+)em", each.get("style"))[1]) for each in (one, long)
    )
    assert 0.3 < width < 0.8
    assert wider > 4 * width


@pytest.mark.parametrize(
    ("asked", "page"),
    [
        ("compare two models", "diff"),
        ("label rows", "label_first"),
        ("compare language model", "language_models"),
        ("pytest", "tests_and_jobs"),
        ("github actions", "tests_and_jobs"),
        ("what changed", "audit"),
        ("watch batches alarms", "monitor"),
        ("rank models", "comparison"),
        ("breaks model robustness", "stability_models"),
        ("test shift", "agreement"),
        ("early stopping", "training-loops"),
        ("mlflow notebooks", "notebooks"),
        ("parquet", "files"),
    ],
)
def test_titles_hold_the_words_by_which_people_search(asked, page):
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    title = re.search(r"^# (.*)$", text, re.MULTILINE)[1].lower()
    assert all(word in title for word in asked.split())
    # which pages come first where titles hold the words alike
    assert f"|{page}|" in (DOCS / "search_scorer.js").read_text(encoding="utf-8")


def test_the_site_loads_nothing_from_elsewhere():
    assert "mathjax" not in (DOCS / "conf.py").read_text(encoding="utf-8")
    for asset in (DOCS / "_static").glob("*.[cj]s*"):
        assert "http" not in asset.read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_a_button_copies_what_can_be_pasted():
    script = (DOCS / "_static" / "copy.js").read_text(encoding="utf-8")
    boxes = {
        "$ shiftmetrics example diff\n$ shiftmetrics diff old.csv new.csv\nRead old.csv.\n": (
            "shiftmetrics example diff\nshiftmetrics diff old.csv new.csv"
        ),
        ">>> for i in range(2):\n...     print(i)\n0\n1\n": "for i in range(2):\n    print(i)",
        "import numpy\nnumpy.zeros(3)\n": "import numpy\nnumpy.zeros(3)",
    }
    program = (
        "const document = {querySelectorAll: () => []};\n"
        f"{script}\nconst boxes = {json.dumps(list(boxes))};\n"
        "console.log(JSON.stringify(boxes.map((text) => commandsOf({textContent: text}))));"
    )
    ran = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == list(boxes.values())


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_of_the_gallery_runs_from_a_clone_alone(file):
    # the gallery executes what is called plot_*, and shows a card without output for everything else
    assert file.name.startswith("plot_")
    assert "SHIFTMETRICS_DATA" not in file.read_text(encoding="utf-8")


def test_each_decision_has_an_example():
    for name in ("diff", "audit", "monitor"):
        assert ROOT / "examples" / f"plot_{name}.py" in EXAMPLES


def test_every_page_is_reached_from_the_front_page():
    front = (DOCS / "index.md").read_text(encoding="utf-8")
    pages = {
        line
        for tree in re.findall(r"```{toctree}(.*?)```", front, re.DOTALL)
        for line in tree.split()
    }
    left_out = {page.stem for page in DOCS.glob("*.md")} - pages - {"index"}
    # pages of the papers hang below the page that leads to them
    assert {name for name in left_out if not name.startswith("reproduction_")} == set()
    reference = {f"api/{page.stem}" for page in (DOCS / "api").glob("*.rst")}
    assert reference <= pages


QUESTIONS = {
    "compare two models": "diff.md",
    "quantised model": "diff.md",
    "language model": "language_models.md",
    "pytest": "tests_and_jobs.md",
    "GitHub Actions": "tests_and_jobs.md",
    "label first": "label_first.md",
    "rank many models": "comparison.md",
    "data drift": "audit.md",
    "watch batch after batch": "monitor.md",
    "robustness": "stability_models.md",
    "what is new": "novelty.md",
    "training loop": "training-loops.md",
    "larger than memory": "large_data.md",
    "notebook": "notebooks.md",
}


@pytest.mark.parametrize("words", QUESTIONS)
def test_the_words_of_users_lead_to_the_page(words):
    lines = (DOCS / "which.md").read_text(encoding="utf-8").splitlines()
    (line,) = [each for each in lines if each.startswith("|") and words.lower() in each.lower()]
    assert f"]({QUESTIONS[words]})" in line
    # the front page leads to this table, so that two clicks are enough
    assert "(which.md)" in (DOCS / "index.md").read_text(encoding="utf-8")


def test_the_list_for_language_models_names_pages_that_are_there():
    text = (DOCS / "_extra" / "llms.txt").read_text(encoding="utf-8")
    assert text.startswith("# shiftmetrics")
    for target in re.findall(r"\]\(([^)]+)\.html\)", text):
        assert (DOCS / f"{target}.md").exists() or (DOCS / f"{target}.rst").exists(), target
