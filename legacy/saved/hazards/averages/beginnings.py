"""Hazards of moving averages that begin at zero, and that nothing corrects for their first steps."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.beginnings import begins_with_zeros
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.kept_shares import kept_share
from legacy.saved.hazards.basics.linear_weights import COPIES
from legacy.saved.hazards.basics.variable_reads import READS, variable_read, variables_behind
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import FEW, counted, listed

#: The least share that an average of weights, or a divisor, keeps of itself, and is far from its value for many steps.
MUCH = 0.99
#: The number of steps that the description gives as an example.
STEPS = 100
#: The largest constant that is added to a divisor to keep it from zero, as an epsilon.
LARGEST_EPSILON = 0.1
_HANDS_ON = frozenset((*READS, *COPIES, "Sqrt"))


def averages_that_begin_at_zero(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds moving averages of weights that begin at zeros, other than the weights, uncorrected; one hazard for all."""
    found: dict[str, tuple[str, str]] = {}
    averages = _from_zero(whole)
    for variable, (name, _) in averages.items():
        kept = kept_share(whole, name).weights
        read = {variable_read(whole.graph, node) or whole.writes.get(node, "") for node in kept}
        followed = sorted(one for one in (read & whole.trainable) - {variable} if not begins_with_zeros(whole, one))
        if followed and not _is_corrected(whole, variable, name):
            found[variable] = (name, followed[0])
    for variable, (name, weight) in found.items():
        share = averages[variable][1]
        yield Hazard(
            "AVERAGE_BEGINS_AT_ZERO",
            name,
            f"{counted(len(found), 'moving average of a weight begins', 'moving averages of weights begin')} at 0 "
            f"({listed(list(found), FEW)}): {variable} keeps {share:.6g} of itself in each step, and after "
            f"{STEPS} steps it has {_reached(share)} of {weight}",
            "begin at the weights, as ExponentialMovingAverage does, or divide by 1 - decay^t; for parity keep it",
        )
        return


def divisors_that_begin_at_zero(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds data or losses that a moving average from zero divides, as to bring them to one size; one for all.

    Averages that only other runs read, as those of a normalization in evaluation, have left zero by then.
    """
    for variable, (name, share) in _from_zero(whole).items():
        quotient = _divided(whole, variable, name) if name in whole.members and name in whole.data else ""
        if quotient:
            yield Hazard(
                "AVERAGE_BEGINS_AT_ZERO",
                quotient,
                f"{quotient} divides by the moving average {variable}, which begins at 0 and keeps {share:.6g} of "
                f"itself in each step: after {STEPS} steps it has {_reached(share)} of what it follows, and the "
                "quotients of the first steps are far too large",
                "begin at 1 or at the first value, or divide the average by 1 - decay^t; for parity keep it",
            )
            return


def _from_zero(whole: WholeGraph) -> dict[str, tuple[str, float]]:
    """{variable: (the only op that changes it, the share that it keeps)} of averages that begin at zeros."""
    changes: dict[str, list[str]] = {}
    for name, variable in whole.writes.items():
        changes.setdefault(variable, []).append(name)
    found = {}
    for variable, names in changes.items():
        if variable in whole.trainable or len(names) > 1:
            continue
        share = kept_share(whole, names[0]).share
        if MUCH <= share < 1 and begins_with_zeros(whole, variable):
            found[variable] = (names[0], share)
    return found


def _reached(share: float) -> str:
    """The part of a constant value that an average from zero has after some steps."""
    return f"{100 * (1 - share**STEPS):.3g} %"


def _is_corrected(whole: WholeGraph, variable: str, change: str) -> bool:
    """Whether an average's value is divided or multiplied by what depends on a power or on a count of steps."""
    graph, todo, seen = whole.graph, [variable, change], {variable, change}
    while todo:
        name = todo.pop()
        for user, position, _ in graph.users(name):
            kind = graph.type(user)
            if kind in _HANDS_ON and user not in seen:
                seen.add(user)
                todo.append(user)
            if kind == "Mul" or (kind in op_types.QUOTIENTS and position == 0):
                other = graph.inputs(user)[1 - position].node
                if _is_of_steps(whole, other):
                    return True
    return False


def _is_of_steps(whole: WholeGraph, name: str) -> bool:
    """Whether a node depends on a power, or on a number that the program changes or feeds."""
    behind = whole.graph.ancestors([name], controls=False)
    changed = set(whole.writes.values()) - whole.trainable
    counts = [one for one in variables_behind(whole.graph, name) & changed if whole.is_scalar(one)]
    return bool(counts) or any(whole.graph.type(one) in ("Pow", "Exp", "Placeholder") for one in behind)


def _divided(whole: WholeGraph, variable: str, change: str) -> str:
    """The op of the training pass by which an average divides data, itself or its root; "" if there is none."""
    graph = whole.graph
    todo, seen = [(variable, False), (change, False)], set()
    while todo:
        name, inverse = todo.pop()
        for user, position, _ in graph.users(name):
            kind, inputs = graph.type(user), graph.inputs(user)
            if user in seen or is_gradient_op(user) or user in whole.writes:
                continue
            seen.add(user)
            other = inputs[1 - position].node if len(inputs) == 2 else ""
            if kind in _HANDS_ON:
                todo.append((user, inverse))
            elif kind == "Rsqrt":
                todo.append((user, True))
            elif kind in (*op_types.ADDITIONS, "Maximum") and other and not inverse:
                epsilon = whole.value(other)
                todo += [(user, False)] if epsilon is not None and abs(epsilon) <= LARGEST_EPSILON else []
            elif (kind == "Mul" and inverse) or (kind in op_types.QUOTIENTS and position == 1 and not inverse):
                if other in whole.data and user in whole.computed and not _is_average(whole, other):
                    return user
                todo += [(user, True)] if kind == "Mul" and other not in whole.data else []
    return ""


def _is_average(whole: WholeGraph, name: str) -> bool:
    """Whether a value is a variable's, or what an assignment gives it: a ratio of two averages needs no correction."""
    origin = whole.graph.origin(whole.graph.inputs(name)[0]).node if whole.graph.type(name) == "Identity" else name
    return bool(variable_read(whole.graph, name)) or origin in whole.writes
