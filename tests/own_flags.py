"""Command modules in one process: several of them define flags of the same names, so that each gets its own values.

with own_flags():
    import parity.verify as verify
"""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib.util
from collections.abc import Iterator
from types import ModuleType
from unittest import mock

from absl import flags

from legacy import flags as legacy_flags
from modern import flags as modern_flags
from parity import against_flags
from parity import flags as parity_flags
from workloads.selection import flags as job_flags
from workloads.support.command_line import command

#: Modules whose flags several commands share; they define them once in a process.
SHARED = (job_flags, legacy_flags, modern_flags, parity_flags, against_flags)


@contextlib.contextmanager
def own_flags(shared: bool = True) -> Iterator[flags.FlagValues]:
    """Gives the modules that are imported meanwhile flag values of their own, which hold the defaults.

    Args:
      shared: whether the flags of the job and of both sides are among them, as copies.

    Yields:
      the flag values.
    """
    values = _copy_of_shared_flags() if shared else flags.FlagValues()
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(flags, "FLAGS", values))
        for name in [name for name in dir(flags) if name.startswith("DEFINE_")]:
            define = functools.partial(getattr(flags, name), flag_values=values)
            stack.enter_context(mock.patch.object(flags, name, define))
        define_json = functools.partial(command.define_json, values)
        stack.enter_context(mock.patch.object(command, "define_json", define_json))
        yield values
    values.mark_as_parsed()


def own_copy(module_name: str) -> ModuleType:
    """Returns a module imported anew, with the flags of the `own_flags` around it, whoever imported it before."""
    spec = importlib.util.find_spec(module_name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _copy_of_shared_flags() -> flags.FlagValues:
    values = flags.FlagValues()
    for module in SHARED:
        for flag in flags.FLAGS.get_flags_for_module(module.__name__):
            values[flag.name] = copy.deepcopy(flag)
            values.register_flag_by_module(module.__name__, values[flag.name])
    return values


@contextlib.contextmanager
def set_flags(flag_values: flags.FlagValues, **values: object) -> Iterator[None]:
    """Sets flags for a while.

    Args:
      flag_values: the flags of a command module.
      values: {flag: value}.
    """
    before = {name: (flag_values[name].value, flag_values[name].present) for name in values}
    for name, value in values.items():
        setattr(flag_values, name, value)
        flag_values[name].present = 1
    try:
        yield
    finally:
        for name, (value, present) in before.items():
            setattr(flag_values, name, value)
            flag_values[name].present = present
