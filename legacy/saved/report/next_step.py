"""End of the page of `legacy.inspect`: whether the graph can be lifted, its replica counts, the next commands."""

from __future__ import annotations

import collections
import os
import shlex
from collections.abc import Sequence

import numpy as np

from legacy.saved.facts.basics.rows import Row
from legacy.saved.facts.basics.unsafe_ops import python_in_model
from workloads.lifted.plan import Plan, Variable
from workloads.lifted.replication import divided_loops, own_number_only, replica_counts, unequal_parts
from workloads.support.wording import counted, listed

#: Folder that the next commands write and read.
LIFT = "lifted"
#: File that they write where no replica runs the lift itself.
SOURCE = "port.py"


def next_rows(plan: Plan, path: str, flags: Sequence[str]) -> list[Row]:
    """Returns the rows of the section "next" of a graph that can be lifted.

    Args:
      plan: of its training step.
      path: the graph file.
      flags: of `legacy.lift`: those that `legacy.inspect` was given, too, and the state that the program carried.

    Returns:
      rows of "what" and "is".
    """
    unequal = unequal_parts(plan)
    if unequal:
        return [
            {"what": "can be lifted", "is": f"no: {unequal}"},
            {"what": "parameters", "is": parameter_count(plan.variables)},
        ]
    refused = sorted(set(plan.unsafe.values()))
    allowed = [f"--allow_ops={','.join(refused)}"] if refused else []
    source = [f"--source={SOURCE}"] if divided_loops(plan) else []
    command = ["python", "-m", "legacy.lift", path, *_checkpoint_flag(path), f"--out={LIFT}", *source, *flags, *allowed]
    verified = f"{SOURCE}:PORT --against={LIFT}" if source else LIFT
    return [
        {"what": "can be lifted", "is": _can_be_lifted(plan, refused)},
        {"what": "replicas", "is": replica_counts(plan)},
        *_constants_rows(plan),
        {"what": "parameters", "is": parameter_count(plan.variables)},
        {"what": "next command", "is": " ".join(map(shlex.quote, command))},
        {"what": "then", "is": f"python -m parity.verify --workload={verified}"},
    ]


def _constants_rows(plan: Plan) -> list[Row]:
    """The row on the graph's constants of a program that runs at other numbers of replicas than its towers.

    A constant that Python computed from the number of towers, as `0.05 * num_gpus`, is like any other.
    """
    if plan.towers == 1 or divided_loops(plan) or own_number_only(plan):
        return []
    made = "a learning rate, a divisor of losses or the steps of a decay that was computed from that number"
    text = f"stay those of {plan.towers} towers; {made} is changed in the source (--source={SOURCE})"
    return [{"what": "constants", "is": text}]


def _can_be_lifted(plan: Plan, refused: Sequence[str]) -> str:
    """Whether a graph can be lifted, and on what condition; `refused` are the types of its unsafe ops."""
    in_model = sorted(python_in_model(plan))
    if in_model:
        return f"only with the results of {listed(in_model, 2)} as data: Python in the model, which is not in the graph"
    if refused:
        return f"if you trust it: a step runs {', '.join(refused)}"
    apart = divided_loops(plan)
    return f"as the reference of a source alone: {apart}" if apart else "yes"


def with_other_runs(rows: Sequence[Row], train_ops: Sequence[str], *, are_alike: bool = False) -> list[Row]:
    """Returns the rows of the section "next" of a program whose train ops are assumed to take turns.

    The graph of a GAN does not say whether its program runs both players' train ops in one run of a session, and which
    one more often: each is another training. Of train ops that change the same weights, a program may run one alone,
    as where it makes another and gives it the same name in Python.

    Args:
      rows: of `next_rows`.
      train_ops: in the order in which they are assumed to take turns; two at least.
      are_alike: whether all of them train the same weights.

    Returns:
      `rows`, with the condition, and the flags of other runs.
    """
    if str(rows[0]["is"]).startswith("no: "):
        return list(rows)
    first = collections.OrderedDict(rows[0], **{"is": f"{rows[0]['is']}, if its train ops take turns"})
    at_once, more = shlex.quote("+".join(train_ops)), shlex.quote(",".join([train_ops[0], *train_ops]))
    flags = f"--train_op={at_once} if one run fetches all, --train_op={more} if {train_ops[0]} runs twice in each round"
    alone = " or ".join(f"--train_op={shlex.quote(one)}" for one in dict.fromkeys(train_ops))
    flags += f", {alone} if the program runs one of them alone" if are_alike else ""
    return [first, *rows[1:], {"what": "other runs", "is": flags}]


def layout_rows(channels_first: int) -> list[Row]:
    """Returns the row on ops of the layout NCHW, if a step has any; `channels_first` is their number.

    >>> layout_rows(1)[0]["is"]
    '1 op computes in NCHW, for which CPUs have no kernels: without a GPU, give legacy.lift --layout=NHWC'
    """
    if not channels_first:
        return []
    ops = counted(channels_first, "op computes", "ops compute")
    without = "for which CPUs have no kernels: without a GPU, give legacy.lift --layout=NHWC"
    return [{"what": "layout", "is": f"{ops} in NCHW, {without}"}]


def parameter_count(variables: Sequence[Variable]) -> str:
    """Returns how many numbers the weights hold, and all variables.

    >>> parameter_count([Variable("w", [1000, 2], "float32", "weight"), Variable("m", [1000, 2], "float32", "slot")])
    '2,000 in 1 weight; 4,000 in all variables that a step uses'

    Variables whose shape is open, such as those that hold examples, are counted and not measured.
    """
    known = [variable for variable in variables if variable.shape is not None and None not in variable.shape]
    weights = [variable for variable in known if variable.role == "weight"]
    total = f"; {_size(known):,} in all variables that a step uses" if len(known) > len(weights) else ""
    others = (
        f"; {counted(len(variables) - len(known), 'variable')} of open shape" if len(known) < len(variables) else ""
    )
    return f"{_size(weights):,} in {counted(len(weights), 'weight')}{total}{others}"


def _size(variables: Sequence[Variable]) -> int:
    return sum(int(np.prod(variable.shape or [], dtype=np.int64)) for variable in variables)


def _checkpoint_flag(path: str) -> list[str]:
    """The flag with the checkpoint beside a .meta file, of either format; none if there is none."""
    checkpoint = path[: -len(".meta")]
    beside = path.endswith(".meta") and (os.path.exists(checkpoint + ".index") or os.path.exists(checkpoint))
    return [f"--checkpoint={checkpoint}"] if beside else []
