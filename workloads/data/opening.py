"""Opens `--data`: recognises the kind of data that a text names."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Dict

from workloads.data.array_file import ArrayFile
from workloads.data.batches import Data
from workloads.data.function import FunctionData
from workloads.data.records import RecordData
from workloads.support.errors import InputError, require
from workloads.support.user import user_modules

if TYPE_CHECKING:
    from collections.abc import Callable

#: A file that `legacy.recorder` writes into the folder of a recording, and what such a folder can be given to.
RECORDING = "recording.json"
RECORDED = (
    "it is the folder of a recording: `parity.verify --workload=LIFT --recording=FOLDER` compares on the recorded "
    "batches, and `legacy.lift GRAPH --data=FOLDER --source=FILE` proves a source on them"
)


def open_data(text: str, parser: str | None = None, argument: str = "--data") -> Data:
    """Returns the data that `--data` or `--eval_data` and `--parser` name.

    Args:
      text: path of an .npz file with an array [count, ...] for each input; module:function of a function that is
        called with the global batch, see `FunctionData`; or, with a parser, a TFRecord file or a folder of some.
      parser: module:function of a function that parses a record, see `RecordData`; None for other data.
      argument: the flag that names the data.

    Returns:
      the data.

    Raises:
      InputError: there are no such data.
      UserError: the user's module raised an exception while it was imported.
    """
    if parser is not None:
        return ParsedRecords(text, parser, argument)
    require(not os.path.isfile(os.path.join(text, RECORDING)), argument, text, RECORDED)
    require(not os.path.isdir(text), argument, text, "a folder of TFRecord files needs --parser=module:function")
    if ":" in text and not os.path.exists(text):
        return NamedFunction(text, argument)
    return ArrayFile(text, argument)


class NamedFunction(FunctionData):
    """Data that a function makes which `--data` names; another process to which they are handed imports it again."""

    def __init__(self, text: str, argument: str = "--data") -> None:
        function = import_function(text, argument, "a function that takes the global batch")
        super().__init__(f"{argument}={text}", function)
        self._text, self._argument = text, argument
        self.description = text

    def __reduce__(self) -> Any:
        return NamedFunction, (self._text, self._argument)


class ParsedRecords(RecordData):
    """Examples in TFRecord files by a parser that `--parser` names; another process imports it again."""

    def __init__(self, path: str, parser: str, argument: str = "--data") -> None:
        allowed = "a function from a record to {input name: tensor}"
        super().__init__(path, import_function(parser, "--parser", allowed), f"--parser={parser}", argument)
        self._parser_text = parser

    def __getstate__(self) -> Dict[str, Any]:
        return {**vars(self), "_parser": None}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        vars(self).update(state)
        self._parser = import_function(self._parser_text, "--parser", "a function")


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
    require(module_name and attribute, argument, text, f"expected module:function, of {allowed}")
    module = user_modules.import_users_module(module_name, f"{argument}: {text!r}")
    function: Callable[..., Any] | None = getattr(module, attribute, None)
    if function is None:
        raise InputError(f"{argument}: {text!r}: module {module_name!r} has no attribute {attribute!r}")
    require(callable(function), argument, text, f"must name {allowed}")
    return function
