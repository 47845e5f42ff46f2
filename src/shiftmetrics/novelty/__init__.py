"""Kernel entropic novelty: how much, and which modes, one sample holds that a reference lacks."""

from shiftmetrics.novelty.bandwidth import choose_bandwidth
from shiftmetrics.novelty.entropic import kernel_entropic_novelty
from shiftmetrics.novelty.options import NoveltyResampling
from shiftmetrics.novelty.result import NoveltyResult

__all__ = [
    "NoveltyResampling",
    "NoveltyResult",
    "choose_bandwidth",
    "kernel_entropic_novelty",
]
