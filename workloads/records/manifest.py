"""Manifest of a recording, checked: the job, the variables and the number of steps, before any of them is used."""

from __future__ import annotations

import json
from typing import Any, Dict, List, NamedTuple, Tuple

import numpy as np

from workloads.records.writer import FORMAT
from workloads.variable_spec import VariableSpec

#: More steps than a recording has: `<step>` has five digits, or a few more.
_MOST_STEPS = 10**8
#: Kinds of a variable's dtype: truth values, integers, floats.
_KINDS = "biuf"


class Manifest(NamedTuple):
    """Content of a manifest.

    Attributes:
      steps: number of steps that the recording holds.
      variables: of the loop, without initializers.
      texts: {"job", "settings", "environment": {name: text}}.
    """

    steps: int
    variables: Tuple[VariableSpec, ...]
    texts: Dict[str, Dict[str, str]]


def parse_manifest(text: str) -> Manifest:
    """Returns the content of a manifest.

    Raises:
      ValueError: it is not JSON, or not a manifest of this format; the message says what is expected.
    """
    try:
        content = json.loads(text)
    except RecursionError:
        raise ValueError("its manifest is nested too deeply")
    if not isinstance(content, dict) or "format" not in content:
        raise ValueError("its manifest is no JSON object with a format")
    if content["format"] != FORMAT:
        raise ValueError("format {!r}, this reader knows {}".format(content["format"], FORMAT))
    steps = content.get("steps")
    if type(steps) is not int or not 0 <= steps <= _MOST_STEPS:
        raise ValueError(f"steps is {_short(steps)} in its manifest, expected a number of steps")
    variables = content.get("variables")
    if not isinstance(variables, list):
        raise ValueError(f"variables is {_short(variables)} in its manifest, expected a list")
    specs = [_variable(entry) for entry in variables]
    if len({spec.name for spec in specs}) < len(specs):
        raise ValueError("two variables of its manifest have one name")
    texts = {key: _texts(key, content.get(key, {})) for key in ("job", "settings", "environment")}
    return Manifest(steps, tuple(specs), texts)


def _variable(entry: Any) -> VariableSpec:
    """Returns the variable that an entry [name, shape, dtype, trainable] describes."""
    expected = "expected [name, shape, dtype, trainable]"
    if not isinstance(entry, list) or [type(item) for item in entry] != [str, list, str, bool]:
        raise ValueError(f"variable {_short(entry)} in its manifest, {expected}")
    name, shape, dtype, trainable = entry
    if any(type(length) is not int or length < 0 for length in shape):
        raise ValueError(f"shape {_short(shape)} of variable {name!r} in its manifest, expected lengths")
    try:
        known = np.dtype(dtype).kind in _KINDS and np.dtype(dtype).name == dtype
    except (TypeError, ValueError, SyntaxError):
        known = False
    if not known:
        raise ValueError(f"dtype {_short(dtype)} of variable {name!r} in its manifest, expected one such as float32")
    return VariableSpec(name, tuple(shape), dtype, trainable, None)


def _texts(key: str, entries: Any) -> Dict[str, str]:
    """Returns {name: text} of a part of the manifest; numbers become texts."""
    if not isinstance(entries, dict) or any(isinstance(value, (dict, list)) for value in entries.values()):
        raise ValueError(f"{key} is {_short(entries)} in its manifest, expected texts by name")
    return {name: str(value) for name, value in entries.items()}


def shape_problems(arrays: Dict[str, np.ndarray], variables: Dict[str, VariableSpec]) -> List[str]:
    """Returns lines about arrays that are not of the shape and dtype of the variables of their names."""
    problems = []
    for name, array in arrays.items():
        spec = variables.get(name)
        if spec is not None and (array.shape != spec.shape or array.dtype.name != spec.dtype):
            problems.append(f"{name!r} is {array.dtype} {list(array.shape)}, not {spec.dtype} {list(spec.shape)}")
    return problems


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "..."
