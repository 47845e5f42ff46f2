"""Data sets: synthetic samples with known answers, and loaders for real ones.

A loader reads a local path, or downloads first with ``download=True``: resumable, checked against a checksum,
complete or absent. Nothing is bundled but scikit-learn's digits.
"""

from shiftmetrics.lab.datasets.acs import acs_features, load_acs
from shiftmetrics.lab.datasets.archives import extract
from shiftmetrics.lab.datasets.cifar import load_cifar10, load_cifar10c
from shiftmetrics.lab.datasets.dataset import Dataset, ImageFiles
from shiftmetrics.lab.datasets.digits import load_digits, load_mnist, read_idx
from shiftmetrics.lab.datasets.download import download
from shiftmetrics.lab.datasets.imdb import load_imdb, load_text_pairs
from shiftmetrics.lab.datasets.sivep import load_sivep
from shiftmetrics.lab.datasets.sources import RemoteFile, Source, data_home
from shiftmetrics.lab.datasets.synthetic import (
    GaussianClasses,
    MarginScores,
    MixtureSample,
    make_gaussian_classes,
    make_margin_scores,
    make_mixtures,
    make_spurious_feature,
)
from shiftmetrics.lab.datasets.wilds import load_camelyon17, load_celeba, load_image_folder, load_waterbirds

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
