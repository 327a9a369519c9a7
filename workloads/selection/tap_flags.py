"""`--taps`: the tensors inside the model that are recorded. A command that has the flag calls `define_taps`."""

from __future__ import annotations

from typing import Any, Tuple

from absl import flags

from workloads.taps import ALL

flags.disclaim_key_flags()  # `--help` lists the flag with those of the command that asks for it


class _TapsParser(flags.ArgumentParser):
    """Parser of a flag that stands alone, or has names behind it."""

    syntactic_help = "names, separated by commas"

    def parse(self, argument: Any) -> Tuple[str, ...]:
        """Returns the names; all of them for the flag alone, none for `--notaps`."""
        if isinstance(argument, (tuple, list)):
            return tuple(argument)
        if argument == "true":
            return ALL
        return () if argument == "false" else tuple(name for name in argument.split(",") if name)


class _TapsSerializer(flags.ArgumentSerializer):
    def serialize(self, value: Any) -> str:
        return ",".join(value)


def define_taps(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Defines `--taps`."""
    flag = flags.Flag(
        _TapsParser(),
        _TapsSerializer(),
        "taps",
        None,
        "Also record and compare the layers' inputs and outputs, and the loss's gradients with respect to them, to "
        "name the first layer that differs; --taps=NAME,NAME for some layers or scope.tap's names (* stands for any "
        "text).",
        boolean=True,
    )
    flags.DEFINE_flag(flag, flag_values=flag_values)


def taps_from_flags(flag_values: flags.FlagValues = flags.FLAGS) -> Tuple[str, ...]:
    """Returns the names, or patterns of names, to record; empty without the flag."""
    return (flag_values["taps"].value or ()) if "taps" in flag_values else ()
