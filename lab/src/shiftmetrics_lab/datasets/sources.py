"""Where published data sets lie on the web, with their checksums, and how a loader finds them on disk."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics_lab.datasets.archives import extract, is_archive
from shiftmetrics_lab.datasets.download import download as download_file


@dataclass(frozen=True, kw_only=True)
class RemoteFile:
    """One file of a data set: its address, its name on disk and its checksum."""

    url: str
    name: str
    checksum: str | None = None


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a data set can be downloaded; pass your own to a loader to use a mirror.

    Attributes
    ----------
    name : str
        Name of the folder under `data_home`.
    files : tuple of RemoteFile
        Archives among them are extracted into a folder of their name.
    terms : str
        Under which terms the publisher offers the data.

    Examples
    --------
    >>> mirror = Source(name="mine", files=(RemoteFile(url="https://example.org/a.csv", name="a.csv"),), terms="CC0")
    >>> mirror.files[0].name
    'a.csv'
    """

    name: str
    files: tuple[RemoteFile, ...]
    terms: str


def data_home() -> Path:
    """Return the folder of downloaded data: ``$SHIFTMETRICS_HOME``, or ``shiftmetrics`` in the user's cache.

    Examples
    --------
    >>> data_home().is_absolute()
    True
    """
    chosen = os.environ.get("SHIFTMETRICS_HOME")
    if chosen:
        return Path(chosen).expanduser().absolute()
    if sys.platform == "win32":
        cache = Path(os.environ.get("LOCALAPPDATA", "~/AppData/Local"))
    elif sys.platform == "darwin":
        cache = Path("~/Library/Caches")
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache"))
    return cache.expanduser() / "shiftmetrics"


def locate(
    path: str | os.PathLike[str] | None, source: Source, *, download: bool, progress: bool = True
) -> Path:
    """Return where a data set lies, downloading it first when asked to.

    Parameters
    ----------
    path : path or None
        A file or folder of the user; None is ``data_home() / source.name``.
    source : Source
        Where to download from.
    download : bool
        Whether to. Files that are there already are checked, not fetched again.
    progress : bool, default True
        Whether to show progress bars.

    Raises
    ------
    FileNotFoundError
        If there is nothing at ``path`` and ``download`` is False.
    ValueError
        If ``download`` is asked for into a path that is a file.
    """
    place = data_home() / source.name if path is None else Path(path).expanduser()
    if not download:
        if not place.exists():
            raise FileNotFoundError(
                f"There is no {source.name} data at {str(place)!r}. Give the path of a file or folder that you have, "
                f"or pass download=True (terms: {source.terms})."
            )
        return place
    if place.is_file():
        raise ArgumentValueError("path", "a folder when download=True", f"the file {str(place)!r}")
    place.mkdir(parents=True, exist_ok=True)
    for remote in source.files:
        archive = place / remote.name
        folder = place / archive.name.split(".")[0]
        if is_archive(archive) and folder.is_dir():
            continue
        download_file(remote.url, archive, checksum=remote.checksum, progress=progress)
        if is_archive(archive):
            extract(archive, folder)
    return place


def find(place: Path, name: str) -> Path:
    """Return ``name`` at ``place`` or in a folder below it; archives often add a folder of their own.

    Raises
    ------
    FileNotFoundError
        If it is nowhere there.
    """
    if place.name == name:
        return place
    for candidate in (
        place / name,
        *sorted(place.glob(f"*/{name}")),
        *sorted(place.glob(f"*/*/{name}")),
    ):
        if candidate.exists():
            return candidate
    raise FileNotFoundError(
        f"There is no {name!r} in {str(place)!r} or its folders. Check the path."
    )


MNIST = Source(
    name="mnist",
    files=tuple(
        RemoteFile(
            url=f"https://ossci-datasets.s3.amazonaws.com/mnist/{name}",
            name=name,
            checksum=f"md5:{checksum}",
        )
        for name, checksum in (
            ("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
            ("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"),
            ("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"),
            ("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"),
        )
    ),
    terms="LeCun, Cortes and Burges; CC BY-SA 3.0",
)
CIFAR10 = Source(
    name="cifar10",
    files=(
        RemoteFile(
            # The binary version: the Python one is made of pickles.
            url="https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
            name="cifar-10-binary.tar.gz",
            checksum="md5:c32a1d4ab5d03f1284b67883e8d87530",
        ),
    ),
    terms="Krizhevsky 2009; free with citation",
)
CIFAR10C = Source(
    name="cifar10c",
    files=(
        RemoteFile(
            url="https://zenodo.org/record/2535967/files/CIFAR-10-C.tar",
            name="CIFAR-10-C.tar",
            checksum="sha256:c72763e101c723b7c507b96205f7e938912a5d587376173b825850cf3cb876a7",
        ),
    ),
    terms="Hendrycks and Dietterich 2019; CC BY 4.0",
)
WATERBIRDS = Source(
    name="waterbirds",
    files=(
        RemoteFile(
            url="https://nlp.stanford.edu/data/dro/waterbird_complete95_forest2water2.tar.gz",
            name="waterbird_complete95_forest2water2.tar.gz",
        ),
    ),
    terms="Sagawa et al. 2019; non-commercial research, as CUB-200-2011 and Places",
)
CELEBA = Source(
    name="celeba",
    files=(
        RemoteFile(
            url="https://worksheets.codalab.org/rest/bundles/0xfe55077f5cd541f985ebf9ec50473293/contents/blob/",
            name="celeba.tar.gz",
        ),
    ),
    terms="Liu et al. 2015; non-commercial research",
)
CAMELYON17 = Source(
    name="camelyon17",
    files=(
        RemoteFile(
            url="https://worksheets.codalab.org/rest/bundles/0xe45e15f39fb54e9d9e919556af67aabe/contents/blob/",
            name="camelyon17.tar.gz",
        ),
    ),
    terms="Bandi et al. 2018; CC0",
)
SIVEP = Source(
    name="sivep",
    files=(
        RemoteFile(
            url="https://raw.githubusercontent.com/vanderschaarlab/synthetic-data-lab/"
            "da3519ce736208d754a8a0ebf962094cc5fd0410/data/Brazil_COVID/covid_normalised_numericalised.csv",
            name="covid_sivep.csv",
            checksum="sha256:bf099fbafa3a827d8c2bd6fce1c5391160a5be98864a22d79e0101cdef7a7dee",
        ),
    ),
    terms="Brazilian Ministry of Health, SIVEP-Gripe; open government data",
)
IMDB = Source(
    name="imdb",
    files=(
        RemoteFile(
            url="https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
            name="aclImdb_v1.tar.gz",
            checksum="md5:7c2ac02c03563afcf9b574c7e56c153a",
        ),
    ),
    terms="Maas et al. 2011; free with citation",
)
