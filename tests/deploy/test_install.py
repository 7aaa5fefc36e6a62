"""scripts/install.sh on machines that lack something, and on one that lacks nothing.

Each machine is a folder with the script, the requirements, an environment that claims to be ready, and a PATH with only
the programs that a test names.
"""

import os
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TOOLS = ("bash", "dirname", "grep", "cat", "sha256sum", "uname", "rm")
PROGRAMS = (
    *("redis-server", "nginx", "chromium", "chromium-headless-shell", "firefox-esr", "flite"),
    *("pg_ctlcluster", "docker-compose", "sipp", "baresip"),
)
PAGE_CHECKS = ("package.json", "package-lock.json")
CLIENTS = [str(path.relative_to(ROOT)) for path in ROOT.glob("tests/extensions/*/clients/requirements.txt")]
"""The requirements for the tests of an extension, if it is there."""
LIBRARIES = "libopus.so.0 libc++.so.1"


class Machine:
    """A checkout, and the programs on its PATH."""

    def __init__(self, folder: Path) -> None:
        self.checkout, self.path = folder / "checkout", folder / "bin"
        (self.checkout / "scripts").mkdir(parents=True)
        self.path.mkdir()
        for name in (
            "scripts/install.sh",
            "requirements.txt",
            "requirements-dev.txt",
            "pyproject.toml",
            *CLIENTS,
            *PAGE_CHECKS,
        ):
            (self.checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.checkout / name)
        for tool in TOOLS:
            (self.path / tool).symlink_to(shutil.which(tool) or tool)
        self.has("ldconfig", f"echo {LIBRARIES}")
        self.has("id", "echo 1000")

    def has(self, program: str, script: str = "exit 0") -> None:
        """Put a program on the PATH that runs `script`."""
        file = self.path / program
        file.write_text(f"#!{shutil.which('bash')}\n{script}\n")
        file.chmod(0o755)

    def has_environment(self) -> None:
        """Make a .venv in which everything is installed."""
        binary = self.checkout / ".venv" / "bin"
        binary.mkdir(parents=True)
        (binary / "python").symlink_to(shutil.which("true") or "true")
        self._stamp(".ready-to-test", ("requirements.txt", "requirements-dev.txt", "pyproject.toml"))
        self._stamp(".ready-to-check-the-page", PAGE_CHECKS)
        (self.checkout / ".venv-clients").mkdir()
        self._stamp("../.venv-clients/.ready", tuple(CLIENTS))
        (self.checkout / "node_modules" / "typescript").mkdir(parents=True)
        (self.checkout / ".venv" / "openai-tests" / version("openai")).mkdir(parents=True)

    def has_python_without_wheel_of(self, *packages: str, builds: bool) -> None:
        """Put a Python on the PATH for which some packages have no wheel; `builds` says whether they can be built."""
        self.has_environment()
        python = self.checkout / ".venv" / "bin" / "python"
        python.unlink()
        lacking = "|".join(packages)
        python.write_text(
            f"""#!{shutil.which("bash")}
            case "$*" in
              --version) echo Python 3.14.0 ;;
              *--only-binary*)
                while read -r line; do
                  [[ $line =~ ^({lacking})== ]] || continue
                  echo "ERROR: No matching distribution found for $line" >&2
                  exit 1
                done <"${{@: -1}}" ;;
              *"install -r"*) exit {0 if builds else 1} ;;
            esac
            """
        )
        python.chmod(0o755)
        with (self.checkout / "requirements.txt").open("a") as file:
            file.write("something-new==1.0\n")

    def _stamp(self, name: str, files: tuple[str, ...]) -> None:
        content = b"".join((self.checkout / file).read_bytes() for file in files)
        stamp = subprocess.run(["sha256sum"], input=content, capture_output=True, check=True).stdout
        (self.checkout / ".venv" / name).write_bytes(stamp)

    def installs(self, level: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.path / "bash"), "scripts/install.sh", level]
        environment = {"PATH": str(self.path), "LC_ALL": os.environ.get("LC_ALL", "C")}
        return subprocess.run(command, cwd=self.checkout, env=environment, capture_output=True, text=True, timeout=60)


def test_a_complete_machine_is_left_alone(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.has_environment()
    for program in PROGRAMS:
        machine.has(program)
    before = os.times()
    done = machine.installs("test")
    after = os.times()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert after.children_user + after.children_system - before.children_user - before.children_system < 0.5


def test_without_root_the_command_is_printed_and_the_rest_continues(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.has_environment()
    machine.has("apt-get", "exit 1")
    for program in set(PROGRAMS) - {"flite", "chromium"}:
        machine.has(program)
    done = machine.installs("test")
    assert done.returncode == 0
    assert "sudo apt-get install --no-install-recommends chromium flite" in done.stderr


def test_the_installation_for_serving_needs_no_browser(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.has_environment()
    done = machine.installs("run")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_system_without_apt_gets_a_list_of_what_is_missing(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.has_environment()
    machine.has("ldconfig", "exit 0")
    done = machine.installs("run")
    assert done.returncode == 0
    assert "Please install what your system calls: libopus0" in done.stderr


def test_without_a_fitting_python_the_installer_stops_and_names_the_versions(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.has("python3", "exit 1")
    done = machine.installs("run")
    assert done.returncode == 1
    assert "Python 3.11, 3.12, 3.13 or 3.14" in done.stderr
    assert "PYTHON=" in done.stderr
    assert not (machine.checkout / ".venv").exists()


def test_changed_requirements_are_installed(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.has_environment()
    with (machine.checkout / "requirements.txt").open("a") as file:
        file.write("something-new==1.0\n")
    done = machine.installs("run")
    assert done.returncode == 0
    assert "Python packages into .venv" in done.stdout
    assert (machine.checkout / ".venv" / ".ready-to-run").exists()
    assert machine.installs("run").stdout == ""


def test_packages_without_a_wheel_are_named_and_built(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.has_python_without_wheel_of("pocketsphinx", "numpy", builds=True)
    done = machine.installs("run")
    assert done.returncode == 0
    assert "No wheel for Python 3.14.0" in done.stderr
    assert "numpy, pocketsphinx. Building from source." in done.stderr
    assert "Ready." in done.stdout


def test_packages_that_cannot_be_built_are_named_and_leave_no_environment(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.has_python_without_wheel_of("pocketsphinx", builds=False)
    done = machine.installs("run")
    assert done.returncode == 1
    assert "These have no wheel here: pocketsphinx." in done.stderr
    assert "PYTHON=" in done.stderr and "build-essential" in done.stderr
    assert not (machine.checkout / ".venv").exists()


def test_the_lock_file_of_the_page_checks_names_no_registry() -> None:
    for name in PAGE_CHECKS:
        assert "://" not in (ROOT / name).read_text()
