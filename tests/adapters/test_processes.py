"""Metrics over two real processes (gloo): uneven and empty ranks."""

import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torchmetrics import MetricCollection

import shiftmetrics
from shiftmetrics import Computing
from shiftmetrics.adapters.torchmetrics import AttackFailureRate, PosteriorAgreement

pytestmark = pytest.mark.slow

K = 4
SHARES = {"uneven": (70, 30), "empty first": (0, 100), "empty second": (100, 0)}


def sample() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    reference = 3.0 * torch.randn(100, K, generator=generator, dtype=torch.float64)
    scores = reference + 3.0 * torch.randn(100, K, generator=generator, dtype=torch.float64)
    return scores, reference, torch.randint(0, K, (100,), generator=generator)


def share(rank: int, sizes: tuple[int, int]) -> slice:
    return slice(0, sizes[0]) if rank == 0 else slice(sizes[0], 100)


def collection() -> MetricCollection:
    return MetricCollection(
        {
            "grid": PosteriorAgreement(K, exact=False, prior="uniform"),
            "exact": PosteriorAgreement(K, exact=True, prior="predicted"),
            "afr_t": AttackFailureRate(),
        }
    )


def everything(rank: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    scores, reference, labels = sample()
    for name, sizes in SHARES.items():
        metrics = collection()
        rows = share(rank, sizes)
        for part in torch.arange(100)[rows].split(17):
            metrics.update(scores[part], reference[part], labels=labels[part])
        found[name] = {key: value.item() for key, value in metrics.compute().items()}
        found[name, "result"] = metrics["grid"].result().beta
        # After the value of all processes, the local sums go on alone.
        local = metrics["grid"].sums[0].item()
        found[name, "local"] = local == len(scores[rows])
    # A batch value over all processes, as Lightning asks for it on steps.
    metric = PosteriorAgreement(K, exact=False, dist_sync_on_step=True, prior="uniform")
    rows = share(rank, (60, 40))
    found["step"] = metric(scores[rows], reference[rows]).item()
    return found


def worker(rank: int, job: Callable[[int], dict[str, Any]], folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=2
    )
    try:
        found = job(rank)
    except Exception:
        found = {"error": traceback.format_exc()}
    torch.save(found, os.path.join(folder, f"{rank}.pt"))  # noqa: PTH118
    dist.destroy_process_group()


def two_processes(job: Callable[[int], dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    mp.spawn(worker, args=(job, str(folder)), nprocs=2, join=True)
    found = [torch.load(folder / f"{rank}.pt") for rank in range(2)]
    for part in found:
        assert "error" not in part, part["error"]
    return found


def test_values_are_those_of_all_pairs(tmp_path: Path) -> None:
    scores, reference, labels = sample()
    uniform = shiftmetrics.posterior_agreement(scores, reference, computing=Computing(atol=1e-10))
    predicted = shiftmetrics.posterior_agreement(scores, reference, prior="predicted")
    afr_t = int((scores.argmax(dim=1) == labels).sum()) / len(scores)
    for found in two_processes(everything, tmp_path):
        for name in SHARES:
            assert found[name]["grid"] == pytest.approx(uniform.value, abs=1e-7)
            assert found[name]["exact"] == pytest.approx(predicted.value, abs=1e-6)
            assert found[name]["afr_t"] == afr_t
            assert found[name, "result"] == pytest.approx(uniform.beta, rel=1e-4)
            assert found[name, "local"]
        assert found["step"] == pytest.approx(uniform.value, abs=1e-7)
