"""The page as a whole: complete, self-contained, escaped, small."""

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest

from pages import Page
from shiftmetrics.agreement import posterior_agreement
from shiftmetrics.novelty import kernel_entropic_novelty
from shiftmetrics.stability import (
    FixedLoss,
    ZeroOneLoss,
    stability_criterion,
    stability_curve,
    worst_case_risk,
)
from shiftmetrics.views.report import (
    Context,
    Rows,
    answer_of,
    document,
    render_report,
    write_report,
)

EVIL = "<script>alert('x')</script>\"&<img src=http://evil.example/x.png>"


@pytest.fixture(scope="module")
def page(results, context) -> str:
    return render_report(results, title="Pets", context=context)


@pytest.mark.slow
def test_elements_nest_and_identifiers_are_unique(page):
    parsed = Page(page)
    assert parsed.open == []
    identifiers = [attributes["id"] for _, attributes in parsed.elements if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))


def test_nothing_is_loaded_from_elsewhere(page):
    parsed = Page(page)
    names = {tag for tag, _ in parsed.elements}
    assert not names & {
        "script",
        "link",
        "iframe",
        "object",
        "embed",
        "base",
        "video",
        "audio",
        "form",
    }
    for tag, attributes in parsed.elements:
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            if name in ("src", "href", "xlink:href", "srcset", "data", "action"):
                assert value.startswith(("data:image/png;base64,", "#")), (tag, name, value)
            if name == "style" and "url(" in value:
                assert "url(#" in value
    assert "http://" not in page
    assert "https://" not in page
    assert "@import" not in page
    assert "default-src 'none'" in page


def test_every_link_inside_the_page_leads_somewhere(page):
    parsed = Page(page)
    identifiers = {attributes.get("id") for _, attributes in parsed.elements}
    targets = {a["href"][1:] for _, a in parsed.elements if (a.get("href") or "").startswith("#")}
    targets |= set(re.findall(r"url\(#([^)]+)\)", page))
    assert targets
    assert targets <= identifiers


def test_every_result_has_its_sentence_and_its_figures(page, results, context):
    text = Page(page).text
    for name, result in results.items():
        assert name in text
        assert result.headline() in text
    for wanted in (
        "A model of pets.",
        "a forest",
        "Distances are in metres.",
        "Twenty rows are new.",
        "Pets",
    ):
        assert wanted in text
    for section in ("Agreement", "Stability", "Novelty", "Methods"):
        assert section in text
    for drawing in (
        "Confidence before and after", "Agreement, pair by pair", "Agreement at each confidence",
        "How far the worst case perturbs samples", "Spectrum of what is new",
    ):  # fmt: skip
        assert drawing in text
    assert "Mode 1" in text
    assert "arXiv:2503.16271" in text


def test_drawings_follow_the_theme_of_the_page(page):
    drawings = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(drawings) >= 8
    for drawing in drawings:
        assert "var(--ink)" in drawing
        assert "#1f2a33" not in drawing
        assert 'role="img"' in drawing
        assert "DejaVu" not in drawing


def test_numbers_on_the_axes_keep_their_digits(results, context):
    loss = ZeroOneLoss(np.linspace(0, 0.02, 50))
    page = render_report(stability_curve(loss, [0.05, 0.1, 0.2]))
    labels = re.findall(r">([\d.]+)</text>", page)
    assert {"0.025", "0.050", "0.075"} <= set(labels)


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_style_for(page, scheme):
    wanted = {
        "light": "color-scheme: light dark",
        "dark": "prefers-color-scheme: dark",
        "print": "@media print",
    }
    assert wanted[scheme] in page


@pytest.mark.slow
def test_everything_a_user_writes_is_escaped(results):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(20, 2))
    named = {
        EVIL: posterior_agreement(scores, scores[::-1]),
        EVIL + "2": stability_criterion(FixedLoss(rng.random(20)), 0.7),
        EVIL + "3": kernel_entropic_novelty(
            rng.normal(size=(20, 2)) + 5, rng.normal(size=(20, 2)), bandwidth=1.0
        ),
    }
    evil_rows = Rows(
        scores=scores, reference_scores=scores[::-1], names=[EVIL] * 20, labels=[EVIL] * 10 + [EVIL + "b"] * 10,
        class_names=[EVIL, EVIL + "c"], images=rng.random((20, 4, 4)), reference_images=rng.random((20, 4, 4)),
        table=pd.DataFrame({EVIL: rng.random(20), "text": [EVIL] * 20}),
    )  # fmt: skip
    flagged = dataclasses.replace(named[EVIL], warnings=(EVIL,))
    named[EVIL] = flagged
    page = render_report(
        named,
        title=EVIL,
        context=Context(
            description=EVIL,
            facts={EVIL: EVIL},
            rows=dict.fromkeys(named, evil_rows),
            remarks=dict.fromkeys(named, EVIL),
        ),
    )
    parsed = Page(page)
    assert not {"script"} & {tag for tag, _ in parsed.elements}
    assert all((a.get("src") or "data:").startswith("data:") for _, a in parsed.elements)
    assert EVIL in "".join(parsed.texts)


def test_results_alone_are_enough(results):
    for result in results.values():
        assert result.headline() in Page(render_report(result)).text


def test_results_without_their_rows(results):
    scores = np.random.default_rng(0).normal(size=(30, 3))
    bare = [
        posterior_agreement([(scores, scores[::-1])]),
        stability_criterion(FixedLoss(np.arange(9.0)), 5.0),
    ]
    text = Page(render_report(bare)).text
    assert all(result.headline() in text for result in bare)


@pytest.mark.parametrize("threshold", [0.0, 0.2, 1.0])
def test_boundaries_of_stability(threshold):
    loss = ZeroOneLoss([0.0, 0.3, 0.5, np.inf])
    result = stability_criterion(loss, threshold)
    text = Page(render_report(result)).text
    assert result.headline() in text
    if not result.status.ok:
        assert result.status.text in text


def test_results_of_one_kind_are_numbered(results):
    text = Page(render_report([results["mild"], results["strong"]])).text
    assert "Posterior agreement 2" in text


@pytest.mark.slow
def test_a_page_that_grows_too_large_shows_less(results, context, monkeypatch):
    large = len(render_report(results, context=context).encode())
    monkeypatch.setattr(document, "MAXIMUM_BYTES", large - 1)
    small = render_report(results, context=context)
    assert len(small.encode()) < large
    assert Page(small).open == []


def test_large_pictures_stay_small(tmp_path):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, size=(40, 300, 200, 3), dtype=np.uint8)
    points = np.concatenate([rng.normal(size=(20, 2)), rng.normal(9, 0.1, size=(20, 2))])
    result = kernel_entropic_novelty(points, rng.normal(size=(40, 2)), bandwidth=1.0)
    rows = Rows(images=images, reference_images=images)
    path = write_report(result, tmp_path / "r.html", context=Context(rows={result.title: rows}))
    assert path.stat().st_size <= 1_000_000
    assert "data:image/jpeg" in path.read_text()


@pytest.mark.parametrize(
    ("results", "error", "message"),
    [
        ([], ValueError, "at least one result"),
        ([1.0], TypeError, "got float"),
        ({"a": "b"}, TypeError, "got str"),
    ],
)
def test_what_is_no_result_is_refused(results, error, message, tmp_path):
    with pytest.raises(error, match=message):
        write_report(results, tmp_path / "r.html")
    assert list(tmp_path.iterdir()) == []


def test_the_folder_must_exist(results, tmp_path):
    with pytest.raises(ValueError, match="output folder must exist"):
        write_report(results, tmp_path / "no" / "r.html")


def test_other_results_of_the_same_house():
    loss = FixedLoss(np.random.default_rng(0).random(30))
    result = worst_case_risk(loss, 0.1)
    text = Page(render_report(result)).text
    assert result.headline() in text


def test_names_of_any_length_and_content_are_printed(results):
    name = "x" * 200
    page = render_report({name: results["mild"], "a\x00b\x1f": results["strong"]})
    assert f'<span title="{name}">{"x" * 20}…{"x" * 20}</span>' in page
    assert r"a\x00b\x1f" in page
    assert not {"\x00", "\x1f"} & set(page)
    assert not re.search(r"[\x00-\x08\x0b-\x1f]", page)


def test_a_number_stays_with_its_unit(page):
    assert re.search(r"\d\N{NO-BREAK SPACE}%", page)
    assert not re.search(r"\d (%|nats)", page)


def test_each_of_several_results_has_one_line_with_its_answer(page, results):
    lines = re.findall(r'<tr><th scope="row"><a.*?</tr>', page, re.DOTALL)
    assert len(lines) == len(results)
    for line, (name, result) in zip(lines, results.items(), strict=True):
        text = " ".join(Page(line).text.replace("\N{NO-BREAK SPACE}", " ").split())
        answer = answer_of(result)
        assert text.startswith(name)
        assert text.index(answer.word) < text.index(answer.sentence)
        # what anybody can judge: nats stand in the section
        assert "nats" not in text
