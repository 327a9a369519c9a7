"""Correspondence of a workload's random numbers with the random streams of a lifted graph: by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workloads.frame import CATEGORICAL, NoiseSpec
from workloads.lifted.plan import Noise, Plan
from workloads.support.errors import InputError

#: {random op of a graph: kind of the noise of a workload that draws the same numbers}.
KINDS = {"RandomUniform": "uniform", "RandomStandardNormal": "normal", "TruncatedNormal": "truncated_normal"}
KINDS.update({"RandomUniformInt": "integers", "Multinomial": CATEGORICAL})
#: {whether random numbers are drawn in a loop: so in words}; likewise whether they are drawn once for all towers.
_WHERE = {True: "drawn in a loop", False: "drawn once a step"}
_BY_WHOM = {True: "once for all towers", False: "by each tower"}


def match_noise(plan: Plan, drawn: Mapping[str, NoiseSpec]) -> dict[str, str]:
    """Finds the noise of a workload for each random stream of the old graph.

    A stream's name is its op's, "tower_0/fc1/dropout/random_uniform/RandomUniform". It is the port's noise of the same
    name, or the one whose name is a part of that path, "fc1/dropout"; the longest of several. Ops without a stateless
    twin, such as candidate samplers, draw by their seeds, which a port states itself. A stream that some towers alone
    draw, as dropout of the first one, is the port's as any other: a replica's numbers follow from its own number, and
    those that it draws and leaves unused change nothing.

    Args:
      plan: of the lift.
      drawn: {noise that the port draws: its description}.

    Returns:
      {stream: the port's noise}.

    Raises:
      InputError: noise is on one side only, or the old graph draws numbers that a workload cannot.
    """
    common = {entry.name: entry for entry in plan.common_noise if entry.how != "seeded"}
    streams = {**{entry.name: entry for entry in plan.noise if entry.how != "seeded"}, **common}
    found = _noise_of_streams(list(streams), list(drawn))
    problems = [
        f"{name!r} is {entry.op}, and a workload draws uniform and normal numbers, and classes"
        for name, entry in streams.items()
        if entry.op not in KINDS
    ]
    for name, noise in found.items():
        problems += _noise_differences(streams[name], name in common, noise, drawn[noise])
    problems += [f"the port draws none for {name!r}" for name in streams if name not in found]
    unused = [name for name in drawn if name not in found.values()]
    problems += [f"the old graph draws none for {name!r}, or several" for name in unused]
    if problems:
        raise InputError("--against: random numbers of the port and the old graph differ: " + "; ".join(problems))
    return found


def _noise_of_streams(streams: Sequence[str], drawn: Sequence[str]) -> dict[str, str]:
    """Returns {random stream of the old graph: the port's noise}, by their names; the last ones belong together."""
    found: dict[str, str] = {}
    for noise in sorted(drawn, key=len, reverse=True):
        inside = [name for name in streams if name not in found and contains(name, noise)]
        if noise in inside:
            inside = [noise]
        if len(inside) == 1:
            found[inside[0]] = noise
    left = [name for name in streams if name not in found]
    unused = [name for name in drawn if name not in found.values()]
    if len(left) == len(unused) == 1:
        found[left[0]] = unused[0]
    return found


def _noise_differences(stream: Noise, is_common: bool, noise: str, drawn: NoiseSpec) -> list[str]:
    """Returns how a port's noise differs from its stream in the old graph.

    Args:
      stream: of the old graph.
      is_common: whether it is drawn once for all towers.
      noise: name of the port's.
      drawn: its description.

    Returns:
      A clause for each difference.
    """
    sides = [
        (stream.op, f"is {drawn.kind}", KINDS.get(stream.op, drawn.kind) == drawn.kind),
        (_WHERE[stream.in_loop], _WHERE[drawn.in_loop], stream.in_loop == drawn.in_loop),
        (f"drawn {_BY_WHOM[is_common]}", _BY_WHOM[drawn.is_common], is_common == drawn.is_common),
    ]
    return [f"{stream.name!r} is {old}, and the port's {noise!r} {own}" for old, own, is_equal in sides if not is_equal]


def contains(path: str, part: str) -> bool:
    """Returns whether consecutive parts of a path are `part`.

    >>> contains("tower_0/fc1/dropout/mul", "fc1/dropout"), contains("tower_0/fc11/dropout", "fc1/dropout")
    (True, False)
    """
    return f"/{part}/" in f"/{path}/"
