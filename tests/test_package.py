"""What is built: the sources and the wheel carry the licence, the links and the files that code reads."""

import email.message
import email.parser
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling")
pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[tarfile.TarFile, zipfile.ZipFile]:
    """Build both with the backend that pyproject.toml names, without a network."""
    folder = tmp_path_factory.mktemp("dist")
    code = "import sys; from hatchling import build; build.build_sdist(sys.argv[1]); build.build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, str(folder)], cwd=ROOT, check=True, timeout=300)
    (sources,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    return tarfile.open(sources), zipfile.ZipFile(wheel)


def about(text: bytes) -> email.message.Message:
    return email.parser.BytesParser().parsebytes(text)


def test_both_carry_the_licence_the_readme_and_the_links(
    built: tuple[tarfile.TarFile, zipfile.ZipFile],
) -> None:
    sources, wheel = built
    root = sources.getnames()[0].split("/")[0]
    names = wheel.namelist()
    licence = (ROOT / "LICENSE").read_bytes()
    (inside,) = (name for name in names if name.endswith("/licenses/LICENSE"))
    assert wheel.read(inside) == licence
    assert sources.extractfile(f"{root}/LICENSE").read() == licence  # type: ignore[union-attr]
    (metadata,) = (name for name in names if name.endswith("/METADATA"))
    for text in (wheel.read(metadata), sources.extractfile(f"{root}/PKG-INFO").read()):  # type: ignore[union-attr]
        found = about(text)
        assert found["License-Expression"] == "Apache-2.0"
        assert found["License-File"] == "LICENSE"
        links = dict(link.split(", ", 1) for link in found.get_all("Project-URL", []))
        assert len(links) >= 3
        assert all(link.startswith("https://") for link in links.values())
        description = str(found.get_payload())
        assert "# shiftmetrics" in description
        # no file lies beside the description on an index
        targets = re.findall(r"\]\(([^)]+)\)", description)
        assert len(targets) > 10
        assert all(target.startswith(("https://", "#")) for target in targets)
        assert any(target.endswith("/docs/diff.md") for target in targets)


def test_both_carry_every_file_that_is_read_and_nothing_else(
    built: tuple[tarfile.TarFile, zipfile.ZipFile],
) -> None:
    sources, wheel = built
    source = ROOT / "src"
    here = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert packed == here
    assert {"shiftmetrics/py.typed", "shiftmetrics/views/drawings/house.mplstyle"} <= packed
    listed = {name.partition("/")[2] for name in sources.getnames()}
    assert {f"src/{name}" for name in here} <= listed
    assert not any(Path(name).suffix in (".pyc", ".log") or ".venv" in name for name in listed)
