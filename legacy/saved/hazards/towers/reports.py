"""Hazards of summaries: those that show the results of one tower alone."""

from __future__ import annotations

import collections
import functools
from collections.abc import Collection, Iterator, Mapping

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import linear_inputs, linear_weights
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import counted

#: Ops that count right answers, as an accuracy does.
_COUNTS = ("Equal", "InTopK", "InTopKV2")


def reports_of_one_tower(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds summaries of one tower's accuracy or loss where no summary shows another tower's; only merged ones count.

    Without any of these, any result of one tower but a share of zeros is found where no summary shows another tower's,
    or all towers'.
    """
    if whole.count < 2:
        return
    shown = _shown(whole)
    of_all = [name for name, towers in shown.items() if len(towers) > 1]
    summaries: dict[int, list[str]] = collections.defaultdict(list)
    for name, towers in shown.items():
        if len(towers) == 1:
            summaries[next(iter(towers))].append(name)
    tower, names, which = _alone(whole, summaries, of_all)
    if names:
        yield Hazard(
            "REPORTED_BY_ONE_TOWER",
            names[0],
            f"{counted(len(names), 'summary shows', 'summaries show')} tower {tower} alone{which}",
            "strategy.reduce the per-replica values before they are written",
        )


def _shown(whole: WholeGraph, kinds: Collection[str] = op_types.SCALAR_SUMMARIES) -> dict[str, set[int]]:
    """{summary that is written: the towers whose training pass it depends on}, without those of none.

    An evaluation of its own is none, also where it runs on the device of a tower.

    Args:
      whole: the graph.
      kinds: op types of the summaries; without others, those of a number.
    """
    graph = whole.graph
    summaries = graph.of_types(*kinds)
    merges = graph.of_types("MergeSummary")
    written = graph.ancestors(merges, controls=False) if merges else set(summaries)
    passes = graph.ancestors([name for name in graph.nodes if is_gradient_op(name)], controls=False) & whole.data
    trained = whole.towers_of(passes)  # the loss of another tower may be computed and not differentiated
    towers = {}
    for name in [name for name in summaries if name in written]:
        behind = graph.ancestors([name], controls=False)
        towers[name] = whole.towers_of(behind & passes) | (whole.towers_of(behind & whole.data) - trained)
    return {name: numbers for name, numbers in towers.items() if numbers}


def _alone(whole: WholeGraph, summaries: Mapping[int, list[str]], of_all: list[str]) -> tuple[int, list[str], str]:
    """The (tower, summaries, words for them) of one tower, of which no other tower's or all towers' show the like.

    Args:
      whole: the graph.
      summaries: {tower: those of it alone}.
      of_all: summaries of several towers.
    """
    terms = {term for target in whole.targets for term in linear_weights(whole, target)}
    errors = _errors(whole)
    is_loss = functools.partial(_is_loss, terms=terms)
    is_loss_of_all = functools.partial(_is_made_of, errors=errors)
    beside = list(summaries)
    are_trained = set(beside) <= whole.towers_of(whole.minimized & whole.data)  # else the losses of some are not known
    for kind, is_kind, is_kind_of_all in (
        ("an accuracy", _is_accuracy, _is_accuracy),
        ("a loss", is_loss, is_loss_of_all),
    ):
        found = {tower: [name for name in names if is_kind(whole, name)] for tower, names in summaries.items()}
        towers = [tower for tower, names in found.items() if names]
        if len(towers) == 1 and not any(is_kind_of_all(whole, name) for name in of_all):
            tower = towers[0]
            others = "all towers" if of_all else "other towers" if len(beside) > 1 and are_trained else ""
            if others:
                return tower, found[tower], f": {found[tower][0]}, {kind}, beside summaries of {others}"
    if len(beside) == 1 and not of_all:
        names = [name for name in summaries[beside[0]] if not _is_share_of_zeros(whole, name)]
        return beside[0], names, _besides(whole, len(summaries[beside[0]]) - len(names), beside[0])
    return 0, [], ""


def _besides(whole: WholeGraph, zeros: int, tower: int) -> str:
    """Names the summaries of a tower alone besides those of its results: of shares of zeros, and histograms.

    Args:
      whole: the graph.
      zeros: the number of the first.
      tower: number of the tower.
    """
    histograms = [towers for towers in _shown(whole, ("HistogramSummary",)).values() if towers == {tower}]
    numbers = (counted(zeros, "share of zeros", "shares of zeros"), counted(len(histograms), "histogram"))
    told = [text for text, number in zip(numbers, (zeros, len(histograms))) if number]
    return f", as do {' and '.join(told)}" if told else ""


def _errors(whole: WholeGraph) -> set[str]:
    """The values that are minimized, and those of which they are sums and means, as of examples."""
    graph, todo = whole.graph, list(whole.targets)
    found: set[str] = set()
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            inputs = [tensor.node for tensor in graph.inputs(name)]
            todo += (
                inputs[:1]
                if graph.type(name) in op_types.REDUCTIONS
                else [one for one, _ in linear_inputs(whole, name)]
            )
    return {name for name in found if name in whole.data}


def _is_made_of(whole: WholeGraph, name: str, errors: Collection[str]) -> bool:
    """Whether a summary shows a function of errors, and not of their gradients alone.

    Args:
      whole: the graph.
      name: of the summary.
      errors: nodes that are minimized, or their parts.
    """
    graph = whole.graph
    gradients = {one for one in graph.ancestors([name], controls=False) if is_gradient_op(one)}
    return not graph.ancestors([name], stop=gradients, controls=False).isdisjoint(errors)


def _is_accuracy(whole: WholeGraph, name: str) -> bool:
    """Whether a summary counts, behind what is minimized, in how many examples a prediction is equal to a label."""
    graph = whole.graph
    counts = [one for one in _behind_losses(whole, name) if graph.type(one) in _COUNTS]
    return any({tensor.node for tensor in graph.inputs(one)[:2]} <= whole.data for one in counts)


def _is_share_of_zeros(whole: WholeGraph, name: str) -> bool:
    """Whether a summary shows which share of a layer's results are zeros, as `tf.nn.zero_fraction` tells."""
    graph = whole.graph
    compared = [one for one in _behind_losses(whole, name) if graph.type(one) in op_types.EQUALITIES]
    return any(0 in (whole.value(tensor.node) for tensor in graph.inputs(one)) for one in compared)


def _behind_losses(whole: WholeGraph, name: str) -> set[str]:
    """The nodes of data that a summary is computed from, and that no loss is."""
    return (whole.graph.ancestors([name], controls=False) - whole.minimized) & whole.data


def _is_loss(whole: WholeGraph, name: str, terms: Collection[str]) -> bool:
    """Whether a summary shows what is minimized, a term of it, or a function of it, as a mean of towers.

    Args:
      whole: the graph.
      name: of the summary.
      terms: what is minimized, and its terms.
    """
    value = whole.graph.origin(whole.graph.inputs(name)[1]).node
    return value in terms or _is_made_of(whole, name, whole.targets)
