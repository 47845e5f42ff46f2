"""Logs of evaluations that are one JSON object: EvalPlus, code_eval, HELM, OpenCompass, DeepEval, MTEB."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from shiftmetrics.tables.readers.evaluations import (
    LogFormat,
    ScoredAnswer,
    reader_of,
    repeats_of,
)

PASS = "pass"


def _has(*marks: bytes, begin: bytes = rb"\{") -> Any:
    """Return the test whether the first bytes begin so and hold all marks."""

    def tells(head: bytes) -> bool:
        return re.match(begin, head) is not None and all(mark in head for mark in marks)

    return tells


def _evalplus(found: Any) -> Iterator[ScoredAnswer]:
    for name, sample, repeat in _samples(found["eval"]):
        base = sample["base_status"] == PASS
        scores: dict[str, Any] = {}
        if sample.get("plus_status") is not None:
            # the tests that were added count beside the first ones, as in the tool's own figure
            scores["plus"] = base and sample["plus_status"] == PASS
        scores["base"] = base
        yield ScoredAnswer(question=name, asked=name, scores=scores, repeat=repeat)


def _code_eval(found: Any) -> Iterator[ScoredAnswer]:
    for name, (_, sample), repeat in _samples(found):
        passed = {"passed": bool(sample["passed"])}
        yield ScoredAnswer(question=name, asked=name, scores=passed, repeat=repeat)


def _samples(tasks: Any) -> Iterator[tuple[str, Any, int | None]]:
    """Yield the samples of each task with its name, and which of them each is; None where all tasks have one."""
    listed = [(str(name), sample) for name, samples in tasks.items() for sample in samples]
    repeats = repeats_of(name for name, _ in listed)
    return ((name, sample, repeat) for (name, sample), repeat in zip(listed, repeats, strict=True))


def _helm(found: Any) -> Iterator[ScoredAnswer]:
    for record in found:
        change = record.get("perturbation") or {}
        name = str(record["instance_id"])
        # an instance that was perturbed is another question
        question = f"{name} {change['name']}" if change.get("name") else name
        scores = {}
        for stat in record["stats"]:
            if stat.get("count") and stat.get("mean") is not None:
                scores[str(stat["name"]["name"])] = stat["mean"]
        yield ScoredAnswer(
            question=question,
            asked=[name, change],
            scores=_leading(scores, HELM_SCORES),
            repeat=int(record.get("train_trial_index") or 0) + 1,
        )


HELM_SCORES = (
    "exact_match", "quasi_exact_match", "prefix_exact_match", "quasi_prefix_exact_match", "final_num_exact_match",
    "exact_set_match", "f1_score", "f1_set_match", "iou_set_match", "classification_macro_f1", "rouge_l", "rouge_2",
    "bleu_4", "math_equiv_chain_of_thought", "math_equiv", "chain_of_thought_correctness", "ifeval_strict_accuracy",
    "wildbench_score", "omni_math_accuracy", "code_eval_acc", "pass", "NDCG@10", "RR@10",
)  # fmt: skip
"""Scores of answers, higher ones better, the one that leads first.

HELM writes no order and no direction: others, such as counts of tokens, toxicity and times, follow where one of these
leads, and a file of others alone is refused.
"""


def _leading(scores: dict[str, Any], first: tuple[str, ...]) -> dict[str, Any]:
    ordered = {name: scores[name] for name in first if name in scores}
    return {**ordered, **scores} if ordered else {}


def _opencompass(found: Any) -> Iterator[ScoredAnswer]:
    details = found["details"]
    items = details.items() if isinstance(details, dict) else enumerate(details)
    samples = [(name, sample) for name, sample in items if isinstance(sample, dict)]
    # evaluators that judge all answers together leave it out
    is_scored = any("correct" in sample for _, sample in samples)
    for name, sample in samples:
        correct = sample["correct"] if is_scored else None
        # one for each answer, where a question is asked several times
        answers = correct if isinstance(correct, list) else [correct]
        asked = sample.get("prompt") or sample.get("origin_prompt")
        if asked is None:
            asked = (sample.get("origin_prediction"), sample.get("references"), name)
            asked = asked if sample.get("references") is not None else str(name)
        for place, value in enumerate(answers):
            yield ScoredAnswer(
                question=str(name),
                asked=asked,
                scores={"correct": value} if is_scored else {},
                repeat=place + 1 if len(answers) > 1 else None,
            )


def _deepeval(found: Any) -> Iterator[ScoredAnswer]:
    run = found.get("testRunData", found)
    for case in run["testCases"]:
        scores: dict[str, Any] = {"success": case.get("success")}
        failed = False
        for metric in case.get("metricsData") or ():
            scores[str(metric["name"])] = metric.get("score")
            failed = failed or bool(metric.get("error"))
        asked = [case.get("input"), case.get("expectedOutput"), case.get("context")]
        yield ScoredAnswer(
            question=_beginning(case.get("input")),
            asked=asked,
            scores=scores,
            failed=failed,
            about=case.get("additionalMetadata") or case.get("metadata"),
        )


DEEPEVAL_FALLING = ("hallucination", "bias", "toxicity")
"""Metrics whose thresholds are the highest scores that pass."""


def _beginning(text: Any) -> str:
    return text if isinstance(text, str) and len(text) <= 60 else ""


def _mteb(found: Any) -> Iterator[ScoredAnswer]:
    task = str(found["task_name"])
    for split, parts in found["scores"].items():
        for part in parts:
            subset = str(part.get("hf_subset") or "default")
            name = f"{task} {split} {subset}"
            asked = [task, found.get("dataset_revision"), split, subset]
            yield ScoredAnswer(
                question=name, asked=asked, scores={"main_score": part["main_score"]}
            )


OPENCOMPASS_MARKS = (b'"correct"', b'"origin_prediction"')


def _tells_details(head: bytes, mark: bytes) -> bool:
    return bool(_has(b'"details"', b'"pred', mark)(head))


FORMATS = (
    LogFormat(
        tool="EvalPlus",
        name="a log of EvalPlus",
        told_by='an object with "eval" and "base_status"',
        tells=_has(b'"eval"', b'"base_status"'),
        answers=_evalplus,
    ),
    LogFormat(
        tool="code_eval",
        name="a log of code_eval, as bigcode-evaluation-harness writes it",
        told_by='an object of lists of pairs with "completion_id" and "passed"',
        tells=_has(
            b'"completion_id"', b'"passed"', begin=rb'\{\s*"[^"]+"\s*:\s*\[\s*\[\s*\d+\s*,\s*\{'
        ),
        answers=_code_eval,
    ),
    LogFormat(
        tool="HELM",
        name="a file of statistics of each instance of HELM",
        told_by='a list of objects with "instance_id", "train_trial_index" and "stats"',
        tells=_has(b'"instance_id"', b'"train_trial_index"', b'"stats"', begin=rb"\[\s*\{"),
        answers=_helm,
    ),
    LogFormat(
        tool="OpenCompass",
        name="a file of results of OpenCompass with details",
        told_by='an object with "details", predictions, and "correct" or "origin_prediction"',
        tells=lambda head: any(map(partial(_tells_details, head), OPENCOMPASS_MARKS)),
        answers=_opencompass,
    ),
    LogFormat(
        tool="DeepEval",
        name="a test run of DeepEval",
        told_by='an object with "testCases" and "metricsData"',
        tells=_has(b'"testCases"', b'"metricsData"'),
        answers=_deepeval,
        falls=lambda name: any(word in name.lower() for word in DEEPEVAL_FALLING),
    ),
    LogFormat(
        tool="MTEB",
        name="a file of results of a task of MTEB",
        told_by='an object with "task_name", "mteb_version" and "main_score"',
        tells=_has(b'"task_name"', b'"mteb_version"', b'"main_score"'),
        answers=_mteb,
    ),
)

READERS = tuple(map(reader_of, FORMATS))
