"""Variables that hold the examples of a step without inputs: the program may have fed them, as any tensor may be."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.graph.assignments import written_variables
from workloads.lifted.graph import parse_tensor_name
from workloads.support.wording import SEVERAL, listed, plural

#: Ops that take the weights of a layer second.
_LAYERS = ("Conv2D", "Conv3D", "DepthwiseConv2dNative", "MatMul", "BiasAdd")


def has_input(analysed: AnalysedStep) -> bool:
    """Returns whether losses depend on an input."""
    plan = analysed.plan
    losses = [parse_tensor_name(name).node for phase in plan.phases for name in phase.losses]
    before = analysed.graph.ancestors(losses, controls=False)
    entries = {parse_tensor_name(t).node for entry in plan.inputs + plan.common for t in entry.tensors}
    return bool(before & (entries | set(plan.sources)))


def fed_variable_sentences(analysed: AnalysedStep) -> Iterator[str]:
    """Yields a sentence on arrays that losses without any input depend on, and that no op of the program changes.

    A pipeline of several devices may hand its batches on by variables that it feeds: the first run's results are fed
    into the next one in place of them. A lift trains on what the checkpoint has for them.

    Args:
      analysed: the training step.

    Yields:
      The sentence, if there are such variables.
    """
    if has_input(analysed):
        return
    losses = [parse_tensor_name(name).node for phase in analysed.plan.phases for name in phase.losses]
    before = analysed.graph.ancestors(losses, controls=False)
    arrays = [variable for variable in analysed.plan.variables if variable.role != "weight" and len(variable.shape) > 0]
    names = [variable.name for variable in arrays if variable.name in before]
    changed = set(written_variables(analysed.whole).values()) if names else set()
    names = [name for name in names if name not in changed]
    if names and not any(_is_layer(analysed, name) for name in names):  # a network that is kept as it was loaded
        yield (
            f"no loss depends on an input, but on {listed(names, SEVERAL)}, which no op changes: if the program "
            f"fed {plural(len(names), 'it', 'them')}, as feed_dict feeds any tensor, that was its data, and a lift "
            f"trains on {plural(len(names), 'its value', 'their values')} in the checkpoint instead"
        )


def _is_layer(analysed: AnalysedStep, name: str) -> bool:
    """Returns whether some op takes a variable as the weights of its layer."""
    graph = analysed.graph
    users = [user for user in graph.descendants([name], controls=False) if graph.type(user) in _LAYERS]
    return any(graph.origin(graph.inputs(user)[1]).node == name for user in users)
