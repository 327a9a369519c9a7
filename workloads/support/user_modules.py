"""Import of the user's own modules, by name, also from below the current folder."""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType
from typing import List

from workloads.support import user_code
from workloads.support.errors import InputError, UserError

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
    running = _tensorflow_runs()
    try:
        with user_code.calling(f"importing {module_name!r}", None):
            module = importlib.import_module(module_name)
    except UserError as error:
        raise UserError(f"{error}{_collision(error.__cause__)}") from error.__cause__
    except Exception as error:  # whatever is raised before a line of the user's is reached
        reason = f"{user_code.telling_sentence(error)}{_collision(error)}"
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
