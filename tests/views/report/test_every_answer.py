"""Of every kind of result: one word, sentence and numbers on page, card and terminal, and in Markdown."""

import base64
import html
import io
import re
import shlex
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

import every_kind
from every_kind import CLASSES, KINDS, context_of, labels, scores
from pages import Page
from shiftmetrics._core.result import Result
from shiftmetrics.cli.app import load_command
from shiftmetrics.cli.outputs import show
from shiftmetrics.rules import RulesResult
from shiftmetrics.views.report import answer_of, properties_of, render_markdown, render_report
from shiftmetrics.views.report.answer import FROM_WORST, Answer, in_brief, overall
from shiftmetrics.views.report.steps import command_in

MAXIMUM_BYTES = 250_000


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    """Return the results, each made once."""
    made = {"tokens": every_kind.tokens(tmp_path_factory.mktemp("logs"))}

    def result(name):
        if name not in made:
            made[name] = KINDS[name]()
        return made[name]

    return result


# an audit takes a second; the slow tests have them all
ALL = [
    pytest.param(name, marks=pytest.mark.slow) if name.startswith("audit") else name
    for name in (*KINDS, "tokens")
]


def plain(text: str) -> str:
    """Return text on one line with ordinary blanks."""
    return " ".join(text.replace("\N{NO-BREAK SPACE}", " ").split())


def unescaped(text: str) -> str:
    """Return Markdown as its readers see it."""
    return plain(html.unescape(re.sub(r"\\([\\`*_\[\]#|~$@.)+=>-])", r"\1", text)))


def junit(result, name: str, path: Path) -> str:
    """Return the texts of a JUnit file."""
    RulesResult(outcomes=()).to_junit(path, properties_of({name: result}))
    properties = ElementTree.parse(path).iter("property")
    return "\n".join(f"{each.get('name')} {each.get('value')}" for each in properties)


@pytest.mark.parametrize("name", ALL)
def test_every_output_says_the_same(kinds, name, capsys, tmp_path):
    result = kinds(name)
    answer = answer_of(result).named(context_of(name).files)
    page = render_report({name: result}, context=context_of(name))
    show({name: result}, files=context_of(name).files, verbose=True)
    shown = {
        "page": plain(Page(page).text),
        "card": plain(Page(result._repr_html_()).text),
        "markdown": unescaped(render_markdown({name: result}, files=context_of(name).files)),
        "JUnit": plain(junit(result, name, tmp_path / "junit.xml")),
        "terminal": plain(capsys.readouterr().out),
    }
    for where, text in shown.items():
        assert answer.word in text, where
        assert plain(answer.sentence) in text, where
        for tile in answer.tiles:
            assert plain(tile.value) in text, (where, tile)
            assert plain(tile.meaning) in text, (where, tile)
    for step in answer.steps:
        assert plain(step).rstrip(".") in shown["page"]
        assert plain(step) in shown["terminal"]
    # the answer is the first thing that is printed, below what voids it
    assert shown["terminal"].index(answer.word) <= sum(len(text) + 12 for text in answer.above)
    assert len(page.encode()) <= MAXIMUM_BYTES
    assert "<script" not in page
    assert not re.search(r"(src|href)=\"(?!#|data:)", page)


@pytest.mark.parametrize("name", ALL)
def test_an_answer_is_short(kinds, name):
    answer = answer_of(kinds(name))
    assert sum(map(str.isalpha, answer.word)) <= 13
    words = [token for token in answer.sentence.split() if any(map(str.isalnum, token))]
    assert 3 <= len(words) <= 20
    assert "`" not in answer.sentence
    assert not re.search(r"\bp [=<]", answer.sentence)
    assert 3 <= len(answer.tiles) <= 6
    for tile in answer.tiles:
        assert not re.search(r"\bp [=<]", f"{tile.value} {tile.meaning}"), tile
    assert len(answer.steps) <= 3
    assert len({tile.name for tile in answer.tiles}) == len(answer.tiles)


# what nothing follows from, and what a command cannot do
NO_COMMAND = (
    "unchanged",
    "constant",
    "nothing",
    "holds",
    "broken",
    "copies",
    "same",
    "no alarm",
    "one class",
)


@pytest.mark.parametrize("name", ALL)
def test_what_to_do_now_can_be_typed(kinds, name):
    steps = answer_of(kinds(name)).named(context_of(name).files).steps
    commands = [command_in(step)[1] for step in steps]
    assert any(commands) or any(word in name for word in NO_COMMAND)
    for words in map(shlex.split, filter(None, commands)):
        command = load_command(words[1])
        options = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= options
        # a comparison of many models knows no two files
        if not name.startswith("compare"):
            assert not {"OLD", "NEW", "REFERENCE", "CURRENT", "FILE", "BATCH"} & set(words)


@pytest.mark.parametrize("name", ALL)
def test_the_exit_code_is_that_of_the_word_in_every_output(kinds, name, tmp_path):
    result = kinds(name)
    if not hasattr(result, "exit_code"):
        # a measure closes no gate
        assert not hasattr(result, "allow")
        return
    answer = answer_of(result)
    is_gate = getattr(result, "allow", 0.0) is not None
    codes = {"SAFE": 0, "NO ALARM": 0, "CANNOT TELL": 3}
    assert result.exit_code == (codes.get(answer.word, 1) if is_gate else 0)
    assert (result.exit_code == 0) or answer.tone != "good"
    path = tmp_path / "result.json"
    result.to_json(path)
    back = Result.from_json(path)
    assert (back.exit_code, answer_of(back).line) == (result.exit_code, answer.line)


@pytest.mark.parametrize("name", ALL)
def test_no_warning_stands_twice(kinds, name):
    answer = answer_of(kinds(name))
    said = [*answer.above, *answer.warnings, *answer.findings]
    assert [text for text, n in Counter(said).items() if n > 1] == []


@pytest.mark.parametrize("name", ["diff: labelled", "agreement", "novelty", "compare"])
def test_a_card_without_styles_and_drawings_has_its_picture(kinds, name):
    card = kinds(name)._repr_html_()
    picture = re.search(
        r'<img style="display: none"[^>]* src="data:image/png;base64,([^"]+)">', card
    )
    pixels = Image.open(io.BytesIO(base64.b64decode(picture[1]))).convert("RGB")
    # something is drawn on white
    colours = pixels.getcolors(maxcolors=100_000)
    assert pixels.getpixel((0, 0)) == (255, 255, 255)
    assert len(colours) > 10
    assert len(card.encode()) < 100_000


def numbers(sentence):
    return [float(found) for found in re.findall(r"[-+]?\d+(?:\.\d+)?", sentence)]


def test_a_difference_is_counted(kinds):
    old, new = every_kind.answers_of(1.0), every_kind.answers_of(2.5, 2)
    truth = CLASSES[labels()]
    right_old = sum(a == b for a, b in zip(old, truth, strict=True))
    right_new = sum(a == b for a, b in zip(new, truth, strict=True))
    fixed = sum(a != c and b == c for a, b, c in zip(old, new, truth, strict=True))
    broken = sum(a == c and b != c for a, b, c in zip(old, new, truth, strict=True))
    points, before, after, level, _, _, n_fixed, n_broken = numbers(
        answer_of(kinds("diff: labelled")).sentence
    )
    assert points == round(100 * (right_old - right_new) / every_kind.N)
    assert before == pytest.approx(100 * right_old / every_kind.N, abs=0.05)
    assert after == pytest.approx(100 * right_new / every_kind.N, abs=0.05)
    assert (level, n_fixed, n_broken) == (95, fixed, broken)


def test_changed_predictions_are_counted(kinds):
    first, second = scores(1.5).argmax(axis=1), scores(0.5).argmax(axis=1)
    n_changed = sum(a != b for a, b in zip(first, second, strict=True))
    percent, n, _ = numbers(answer_of(kinds("agreement: no interval")).sentence)
    assert n == every_kind.N
    assert percent == pytest.approx(100 * n_changed / n, rel=0.05)


def test_the_samples_of_a_new_mode_are_counted(kinds):
    percent, n = numbers(answer_of(kinds("novelty")).sentence)
    # thirty of ninety lie at 9, where the reference has none
    assert n == 90
    assert percent == pytest.approx(100 * 30 / 90, abs=3)


def test_the_least_shift_is_counted(kinds):
    result = kinds("stability")
    threshold, changed = numbers(answer_of(result).sentence)
    moved = sum(distance > 0.0 for distance in result.plan.distances.tolist())
    assert threshold == 40
    assert changed == pytest.approx(100 * moved / every_kind.N, abs=1)


@pytest.mark.slow
def test_labels_of_an_audit_are_counted(kinds):
    right, n, low, high = numbers(answer_of(kinds("audit: worse")).sentence)
    assert n == 160
    assert right == round(100 * 110 / 160)
    assert low < 100 * 50 / 160 < high


def test_the_first_models_of_a_comparison_are_named(kinds):
    answer = answer_of(kinds("compare: ties"))
    names = {f"{CLASSES[place % 3]}{place}" for place in range(5)}
    assert answer.sentence.split(" agrees")[0] in names
    assert len(answer.tiles) == 5


def test_what_voids_an_answer_alone_stands_above_it(kinds):
    for name in ("stability: weights", "novelty: nothing"):
        answer = answer_of(kinds(name))
        assert answer.warnings
        assert answer.above == ()


@pytest.mark.slow
def test_copies_void_an_audit(kinds):
    answer = answer_of(kinds("audit: copies"))
    assert "stands 4 times" in answer.above[0]
    assert answer.above[0] not in answer.warnings


@pytest.mark.parametrize("tone", FROM_WORST)
def test_the_worst_of_several_leads(tone):
    parts = {
        each: Answer(word=each.upper(), tone=each, sentence="It is.")
        for each in FROM_WORST[FROM_WORST.index(tone) :]
    }
    # in any order
    assert overall(dict(reversed(parts.items()))).word == tone.upper()


@pytest.mark.parametrize("n_words", [3, 19, 20, 21, 60])
def test_a_long_sentence_ends_early_and_nothing_is_lost(n_words):
    rng = np.random.default_rng(n_words)
    words = [f"w{place}" for place in range(n_words)]
    for place in rng.choice(n_words - 1, n_words // 6, replace=False):
        words[place] += rng.choice([";", ":", " %"])
    sentence = " ".join(words) + "."
    brief, rest = in_brief(sentence)
    assert len(re.findall(r"w\d+", brief)) <= 20
    assert set(re.findall(r"w\d+", sentence)) == set(re.findall(r"w\d+", f"{brief} {rest.lower()}"))
    assert (rest == "") == (n_words <= 20)
