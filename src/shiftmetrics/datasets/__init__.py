"""Data sets: synthetic samples with known answers, and loaders for real ones.

A loader reads a local path, or downloads first with ``download=True``: resumable, checked against a checksum,
complete or absent. Nothing is bundled but scikit-learn's digits.
"""

from shiftmetrics.datasets.acs import acs_features, load_acs
from shiftmetrics.datasets.archives import extract
from shiftmetrics.datasets.cifar import load_cifar10, load_cifar10c
from shiftmetrics.datasets.dataset import Dataset, ImageFiles
from shiftmetrics.datasets.digits import load_digits, load_mnist, read_idx
from shiftmetrics.datasets.download import download
from shiftmetrics.datasets.imdb import load_imdb, load_text_pairs
from shiftmetrics.datasets.sivep import load_sivep
from shiftmetrics.datasets.sources import RemoteFile, Source, data_home
from shiftmetrics.datasets.synthetic import (
    GaussianClasses,
    MarginScores,
    MixtureSample,
    make_gaussian_classes,
    make_margin_scores,
    make_mixtures,
    make_spurious_feature,
)
from shiftmetrics.datasets.wilds import load_camelyon17, load_celeba, load_image_folder, load_waterbirds

__all__ = [
    "Dataset",
    "GaussianClasses",
    "ImageFiles",
    "MarginScores",
    "MixtureSample",
    "RemoteFile",
    "Source",
    "acs_features",
    "data_home",
    "download",
    "extract",
    "load_acs",
    "load_camelyon17",
    "load_celeba",
    "load_cifar10",
    "load_cifar10c",
    "load_digits",
    "load_image_folder",
    "load_imdb",
    "load_mnist",
    "load_sivep",
    "load_text_pairs",
    "load_waterbirds",
    "make_gaussian_classes",
    "make_margin_scores",
    "make_mixtures",
    "make_spurious_feature",
    "read_idx",
]
