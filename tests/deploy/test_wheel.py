"""The wheel serves the page, the API and a call in an environment without the checkout."""

import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest

from tests.support.running_server import environment, when_ready

ROOT = Path(__file__).resolve().parents[2]
QUESTION = ROOT / "examples" / "whats-the-weather-in-seattle.wav"
pytestmark = pytest.mark.slow


class Built(NamedTuple):
    """The built packages, and an environment in which the wheel is installed."""

    wheel: Path
    wheel_of_sdist: Path
    command: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Built]:
    """Build wheels from the checkout and from the source distribution, and install the first beside our packages."""
    folder = tmp_path_factory.mktemp("package")
    _build(ROOT, folder, "sdist", "wheel")
    [wheel], [sdist] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    subprocess.run(["tar", "-xzf", sdist, "-C", folder], check=True)
    _build(folder / sdist.name.removesuffix(".tar.gz"), folder / "again", "wheel")
    [again] = (folder / "again").glob("*.whl")
    yield Built(wheel, again, _installed(wheel, folder / "environment"))


def _build(source: Path, into: Path, *targets: str) -> None:
    chosen = [option for target in targets for option in ("--target", target)]
    subprocess.run([sys.executable, "-m", "hatchling", "build", *chosen, "--directory", into], cwd=source, check=True)


def _installed(wheel: Path, folder: Path) -> Path:
    """Install the wheel where its dependencies can be imported and this checkout cannot; return the command."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", str(python)]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", str(wheel)], check=True)
    [packages] = (folder / "lib").glob("python*/site-packages")
    [ours] = [path for path in sys.path if path.startswith(sys.prefix) and path.endswith("site-packages")]
    (packages / "dependencies.pth").write_text(ours)
    return folder / "bin" / "responder-thinker"


def test_the_wheel_contains_the_page_and_the_mark_of_typed_packages(built: Built) -> None:
    names = set(zipfile.ZipFile(built.wheel).namelist())
    page = {f"responder_thinker/page/{path.relative_to(ROOT / 'frontend')}" for path in _tracked("frontend")}
    assert page and page <= names
    assert {"backend/py.typed", "responder_thinker/py.typed"} <= names
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"backend", "responder_thinker", f"responder_thinker-{version('responder-thinker')}.dist-info"}


def test_the_wheel_of_the_source_distribution_has_the_same_files(built: Built) -> None:
    assert _contents(built.wheel_of_sdist) == _contents(built.wheel)


def test_the_installed_command_prints_its_version(built: Built) -> None:
    printed = subprocess.run([built.command, "--version"], capture_output=True, text=True, check=True, cwd="/")
    assert printed.stdout.strip() == version("responder-thinker")


def test_the_installed_server_runs_in_a_project_with_its_own_backend_package(built: Built, tmp_path: Path) -> None:
    (tmp_path / "backend").mkdir()  # a package of the project, which must not be imported for ours
    (tmp_path / "backend" / "__init__.py").write_text("raise RuntimeError('the backend of another project')")
    with (tmp_path / "stderr.log").open("wb") as log:
        process = subprocess.Popen(
            [built.command, "serve", "--port", "0"],
            cwd=tmp_path,
            env=environment(tmp_path) | {"COLUMNS": "200"},
            stdout=subprocess.PIPE,
            stderr=log,
        )
    try:
        server = when_ready(process, tmp_path)
        page = httpx2.get(f"{server.url}/", trust_env=False)
        assert page.status_code == 200 and page.content == (ROOT / "frontend" / "index.html").read_bytes()
        assert httpx2.get(f"{server.url}/api/config", trust_env=False).json()["thinkers"]
        said = subprocess.run(
            [built.command, "talk", QUESTION, "--url", server.url, "--out", tmp_path / "reply.wav"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert said.returncode == 0, said.stdout + said.stderr
        assert "Seattle" in said.stdout and (tmp_path / "reply.wav").stat().st_size > 24_000
    finally:
        process.terminate()
        process.wait(15)
        assert process.stdout
        process.stdout.close()


def _contents(wheel: Path) -> dict[str, int]:
    """Return the checksum of each file except the list of files."""
    entries = zipfile.ZipFile(wheel).infolist()
    return {entry.filename: entry.CRC for entry in entries if not entry.filename.endswith("RECORD")}


def _tracked(folder: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", folder], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split()]
