"""Discovery imports the modules of a package, and the files of a plugin folder, for tools, Thinkers and steps."""

import hashlib
import importlib
import importlib.util
import pkgutil
import sys
import traceback
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import TypeVar

from backend.errors import BadPlugin, SetupError, VoiceError

T = TypeVar("T")

_latest: dict[Path, ModuleType] = {}
"""The latest version of each plugin that could be loaded."""
PLUGIN = "plugin_"
"""The beginning of the name of a plugin's module."""
EXTENSION_FILE = "extension.py"
"""The file that makes a folder an extension."""


def package_modules(package: str) -> list[ModuleType]:
    """Return every module of a package, sorted by name. Raises `BadPlugin` when one cannot be imported."""
    home = importlib.import_module(package)
    names = sorted(info.name for info in pkgutil.iter_modules(home.__path__, f"{package}."))
    return [imported_module(name) for name in names]


def folder_modules(folder: Path, faults: list[SetupError] | None = None) -> list[ModuleType]:
    """Return every `.py` file of `folder` except tests and names with a leading underscore.

    Of a subfolder with an `extension.py`, only that file is returned; it imports its neighbours relatively. A file that
    cannot be loaded adds to `faults`, and is returned as it was last loaded, if ever. Raises `BadPlugin` for it without
    `faults`, and for an extension that was never loaded, since it may have a say in who is admitted.
    """
    besides = ("_", "test_", "conftest.py")
    paths = [path for path in sorted(folder.glob("*.py")) if not path.name.startswith(besides)]
    extensions = [path.parent for path in sorted(folder.glob(f"*/{EXTENSION_FILE}"))]
    for path in paths + extensions:
        try:
            _latest[path] = _loaded_extension(path) if path in extensions else _loaded(path)
        except BadPlugin as error:
            if faults is None or (path in extensions and path not in _latest):
                raise
            faults.append(error)
    return [_latest[path] for path in paths + extensions if path in _latest]


def declared_in(module: ModuleType, mark: str, kind: type[T]) -> list[T]:
    """Return the objects of `kind` in the attribute `mark` of functions that `module` itself defines."""
    functions = (value for value in vars(module).values() if getattr(value, "__module__", None) == module.__name__)
    declared = (getattr(function, mark, None) for function in functions)
    return [one for one in declared if isinstance(one, kind)]


def file_of(module: ModuleType) -> str:
    """Return the module's file for errors, or its name if it exists only in memory, as in tests."""
    return str(getattr(module, "__file__", None) or module.__name__)


def imported_module(name: str) -> ModuleType:
    """Return the module of that name. Raises `BadPlugin` when it cannot be imported."""
    try:
        return importlib.import_module(name)
    except VoiceError:
        raise
    except Exception as error:
        raise BadPlugin(f"{name} cannot be imported: {error}.") from error


class _FromSource(SourceFileLoader):
    """Always compiles the current file.

    Python judges bytecode by size and whole seconds, but a file may be saved twice within a second.
    """

    def get_code(self, fullname: str) -> CodeType:
        """Return the compiled source."""
        return self.source_to_code(self.get_data(self.path), self.path)


def _loaded(path: Path) -> ModuleType:
    """Return the file as a module, loaded once for each path and content."""
    mark = hashlib.sha256(str(path.resolve()).encode() + path.read_bytes()).hexdigest()[:12]
    name = f"{PLUGIN}{path.stem}_{mark}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path, loader=_FromSource(name, str(path)))
    if spec is None or spec.loader is None:
        raise BadPlugin(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # Dataclasses and type hints look their module up there.
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        hint = error.hint if isinstance(error, VoiceError) else ""
        raise BadPlugin(f"{_place(path, error)} cannot be loaded: {str(error).rstrip('.')}.", hint=hint) from error
    return module


def _loaded_extension(folder: Path) -> ModuleType:
    """Return the `extension.py` of a folder as a module of its own package, loaded once for each path and content."""
    digest = hashlib.sha256(str(folder.resolve()).encode())
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.read_bytes())
    name = f"{PLUGIN}{folder.name}_{digest.hexdigest()[:12]}"
    if name not in sys.modules:
        package = ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package
    return imported_module(f"{name}.{Path(EXTENSION_FILE).stem}")


def _place(path: Path, error: Exception) -> str:
    """Return the file with the line that failed."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    return f"{path}:{line}" if line else str(path)
