"""Opens `--data`: recognises the kind of data that a text names."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from workloads.data.array_file import ArrayFile
from workloads.data.batches import Data
from workloads.data.function import FunctionData
from workloads.support import user_modules
from workloads.support.errors import InputError, require

if TYPE_CHECKING:
    from collections.abc import Callable


def open_data(text: str) -> Data:
    """Returns the data that `--data` names.

    Args:
      text: path of an .npz file with an array [count, ...] for each input; or module:function of a function that is
        called with the global batch, see `FunctionData`.

    Raises:
      InputError: there are no such data.
      UserError: the user's module raised an exception while it was imported.
    """
    if ":" in text and not os.path.exists(text):
        return NamedFunction(text)
    return ArrayFile(text)


class NamedFunction(FunctionData):
    """Data that a function makes which `--data` names; another process to which they are handed imports it again."""

    def __init__(self, text: str) -> None:
        super().__init__(f"--data={text}", import_function(text, "--data", "a function that takes the global batch"))
        self._text = self.description = text

    def __reduce__(self) -> Any:
        return NamedFunction, (self._text,)


def import_function(text: str, argument: str, allowed: str) -> Callable[..., Any]:
    """Returns the function of the user's that a flag names.

    Args:
      text: "module:function".
      argument: the flag.
      allowed: the kind of function, for messages.

    Returns:
      the function.

    Raises:
      InputError: there is no such function.
      UserError: the user's module raised an exception while it was imported.
    """
    module_name, _, attribute = text.partition(":")
    module = user_modules.import_users_module(module_name, f"{argument}: {text!r}")
    function: Callable[..., Any] | None = getattr(module, attribute, None)
    if function is None:
        raise InputError(f"{argument}: {text!r}: module {module_name!r} has no attribute {attribute!r}")
    require(callable(function), argument, text, f"must name {allowed}")
    return function
