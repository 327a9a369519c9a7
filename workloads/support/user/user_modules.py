"""Import of the user's own modules: by name, also from below the current folder, or by the path of a file."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import zlib
from types import ModuleType
from typing import TYPE_CHECKING, List

from workloads.support.errors import InputError, UserError, require
from workloads.support.user import user_code

if TYPE_CHECKING:
    from collections.abc import Callable

#: Names of the user's modules that ran TensorFlow's ops while they were imported.
STARTED_TENSORFLOW: List[str] = []


def import_users_module(module_name: str, what: str) -> ModuleType:
    """Imports a module from the import path or from below the current folder.

    Args:
      module_name: its name, such as "package.module".
      what: beginning of the message if there is none, such as "--workload: 'mine:DIGITS'".

    Returns:
      the module.

    Raises:
      InputError: there is no such module.
      UserError: the module raised an exception while it was imported.
    """
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    return _imported(lambda: importlib.import_module(module_name), module_name, what)


def import_users_file(path: str, what: str) -> ModuleType:
    """Imports a module from a file, whose folder is then searched for further modules.

    Args:
      path: of the file, such as "ports/port.py".
      what: beginning of the message if there is none, such as "--workload: 'port.py:PORT'".

    Returns:
      the module; its name is the file's, without ".py", unless that has a dot or is another module's.

    Raises:
      InputError: there is no such file.
      UserError: the module raised an exception while it was imported.
    """
    require(os.path.isfile(path), what, path, "there is no such file")
    path = os.path.abspath(path)
    folder, file_name = os.path.split(path)
    if folder not in sys.path:
        sys.path.append(folder)
    name = file_name[: -len(".py")]
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__file__", None) == path:
        return loaded
    # A dot would make the file a module of a package, whose own file would be imported.
    if "." in name or loaded is not None or _file_of(name) != path:
        name = f"users_file_{zlib.crc32(path.encode())}"
    return _imported(lambda: _load_file(name, path), path, what)


def _file_of(module_name: str) -> str | None:
    """Returns the file that a module's name stands for, without importing it."""
    spec = importlib.util.find_spec(module_name)
    return None if spec is None else spec.origin


def _load_file(name: str, path: str) -> ModuleType:
    """Imports a file as the module `name`."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # a file that ends in ".py" has both
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _imported(load: Callable[[], ModuleType], module_name: str, what: str) -> ModuleType:
    """Returns the module that `load` imports; see `import_users_module`."""
    running = _tensorflow_runs()
    try:
        with user_code.calling(f"importing {module_name!r}", None):
            module = load()
    except UserError as error:
        raise UserError(f"{error}{_collision(error.__cause__)}") from error.__cause__
    except Exception as error:  # whatever is raised before a line of the user's is reached
        reason = f"{user_code.error_line(error)}{_collision(error)}"
        raise InputError(f"{what}: importing {module_name!r} failed: {reason}") from error
    if _tensorflow_runs() and not running:
        STARTED_TENSORFLOW.append(getattr(module, "__file__", None) or module_name)
    return module


def _tensorflow_runs() -> bool:
    """Returns whether TensorFlow's runtime has started, after which its devices cannot be chosen."""
    eager = sys.modules.get("tensorflow.python.eager.context")
    return eager is not None and bool(getattr(eager.context(), "_initialized", False))


def _collision(error: BaseException | None) -> str:
    """Returns a hint if a user's module failed to import from a package that has the name of one of this project's."""
    package = ((error.name if isinstance(error, ImportError) else None) or "").partition(".")[0]
    own = package in ("workloads", "legacy", "modern", "parity")
    return f" ({package} is a package of tower-parity; rename yours)" if own else ""
