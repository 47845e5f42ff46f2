"""Kernel entropic novelty: how much, and which modes, one sample holds that a reference lacks."""

from shiftmetrics.novelty.bandwidth import Bandwidth, median_bandwidth, variance_bandwidth
from shiftmetrics.novelty.calibration import Null
from shiftmetrics.novelty.confirm import confirm_modes
from shiftmetrics.novelty.confirmed import ConfirmedModes, ConfirmedModesStatus, ModeTest
from shiftmetrics.novelty.cosine import CosineMap
from shiftmetrics.novelty.entropic import kernel_entropic_novelty
from shiftmetrics.novelty.fourier import FourierMap
from shiftmetrics.novelty.groups import ModeGroup, group_modes
from shiftmetrics.novelty.landmarks import LandmarkMap
from shiftmetrics.novelty.missing import missing_modes
from shiftmetrics.novelty.modes import Mode
from shiftmetrics.novelty.result import NoveltyResult, NoveltyStatus
from shiftmetrics.novelty.sampling import sample_mode
from shiftmetrics.novelty.sizes import NoveltySizes, novelty_against_size
from shiftmetrics.novelty.stream import NoveltyStream
from shiftmetrics.novelty.sweep import BandwidthSweep, bandwidth_sweep
from shiftmetrics.novelty.table import NoveltyTable, NoveltyTableStatus, novelty_table

__all__ = [
    "Bandwidth",
    "BandwidthSweep",
    "ConfirmedModes",
    "ConfirmedModesStatus",
    "CosineMap",
    "FourierMap",
    "LandmarkMap",
    "Mode",
    "ModeGroup",
    "ModeTest",
    "NoveltyResult",
    "NoveltySizes",
    "NoveltyStatus",
    "NoveltyStream",
    "NoveltyTable",
    "NoveltyTableStatus",
    "Null",
    "bandwidth_sweep",
    "confirm_modes",
    "group_modes",
    "kernel_entropic_novelty",
    "median_bandwidth",
    "missing_modes",
    "novelty_against_size",
    "novelty_table",
    "sample_mode",
    "variance_bandwidth",
]
