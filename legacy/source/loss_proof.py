"""Proof of written losses: the towers of the old graph and the functions, on made-up numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple

import tensorflow as tf

from legacy.saved.derivatives.overridden_gradients import override_sentences
from legacy.saved.derivatives.wrong_derivatives import is_wrong_derivative_of_elu, normalizations_derived_wrongly
from legacy.source.basics.unwritten import Unwritten
from legacy.source.idioms.block_cells import BLOCK_CELL
from legacy.source.made_up_tower import Tower, proof_states
from legacy.source.named_results import LOSS
from legacy.source.ops.arrays import TABLES
from legacy.source.overrides.marking import custom_gradients
from legacy.source.proof import Comparison, compare_tower
from legacy.source.reasons import unequal_rows
from legacy.source.step.input_names import InputNames
from legacy.source.styles import workload_style
from legacy.source.styles.docstring import MOST_LISTED
from legacy.source.tables import tables_of
from workloads import initializers as _workload_initializers
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan.settings import usual_setting
from workloads.support.wording import counted, listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from legacy.source.step.imported_step import WrittenLoss
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Plan
    from workloads.program import Arrays

#: Relative difference of a tower's results beyond which a source is wrong; rounding stays below it.
MOST_DIFFERENCE = 1e-3
#: Why a gradient of rows that a loop looks up differs.
_ROWS_IN_LOOPS = (
    "; TensorFlow 2 adds up the rows that a loop looks up in each iteration, and 1.x those of all at the end"
)
#: Which gradients are no rows: a weight that the step changes before it is looked up, as a row that is set to zeros, is
#: differentiated by its new value in the old graph, and the written loss by the value from before.
_DENSE_FOR_ROWS = "gradients: dense in the written loss, and rows of what is looked up in the old graph:"
#: Why a gradient of rows of several lookups differs.
_ROWS_IN_OTHER_ORDER = "; the rows of several lookups of one table come in another order, and are added up in it"
#: What such gradients contain where TensorFlow up to 1.4 derived elu twice.
_WRONG_ELU = "; TensorFlow up to 1.4 derived tf.nn.elu twice by a wrong formula, which no source has"
#: Likewise batch normalization.
_WRONG_NORMALIZATION = (
    "; old TensorFlow, as 1.4, derived tf.nn.fused_batch_norm twice with a path counted twice, which no source has"
)


class Proof(NamedTuple):
    """Result of a comparison of written losses with the towers of the old graph.

    Attributes:
      sentence: says it.
      in_any_order: see `Comparison`.
      asked: see `Comparison`; of the first tower.
      differing: number of results that differ by rounding.
    """

    sentence: str
    in_any_order: bool
    asked: List[str]
    differing: int = 0


def prove_losses(
    plan: Plan,
    graph: Graph,
    initial: Dict[str, np.ndarray],
    losses: Sequence[WrittenLoss],
    functions: Sequence[str],
    settings: Mapping[str, Any],
    examples: Sequence[Arrays] = (),
) -> Proof:
    """Runs each tower and the written functions on the same numbers.

    Args:
      plan: of the lift.
      graph: of the lift.
      initial: {variable: value to start from}.
      losses: the losses that are written.
      functions: lines of their functions.
      settings: {constant: value} of the scalars that were fed.
      examples: each tower's batch of the program's own data; empty for made-up numbers.

    Returns:
      The proof.

    Raises:
      Unwritten: they differ by more than rounding does.
    """
    unwritten = _overrides(plan, graph)
    if unwritten:
        raise Unwritten(f"loss: {unwritten}")
    space = _namespace(graph, losses, functions, settings)
    states = proof_states(plan, initial)
    found: Dict[str, Comparison] = {}
    for loss in losses:
        model = loss.model
        fed = {
            entry.name: usual_setting(plan, entry.name) for entry in model.inputs.values() if entry.kind == "setting"
        }
        fed.update((source, settings[constant]) for constant, source in model.settings.items())
        names = InputNames(model.inputs, model.settings, model.streams, model.copied)
        of_all, others = (space[loss.function_of_all] if lines else None for lines in (loss.of_all, loss.with_others))
        for number in range(plan.towers):
            proposals = model.statistics.proposals[number]
            tower = Tower(plan, graph, states, fed, proposals, number, loss.phase, names, examples, loss.further)
            where = f"tower {number}" + (f" in {loss.phase.train_op}" if len(losses) > 1 else "")
            try:
                found[where] = compare_tower(tower, space[loss.function], of_all, others, loss.results)
            except (ValueError, tf.errors.OpError) as error:
                reason = unequal_rows(plan, examples)
                if reason:
                    raise Unwritten(reason) from error
                raise
    return _verdict(found, graph, "the program's own data" if examples else "made-up numbers")


def _namespace(
    graph: Graph, losses: Sequence[WrittenLoss], functions: Sequence[str], settings: Mapping[str, Any]
) -> Dict[str, Any]:
    """Returns {name: value} of what the text of some functions defines.

    Args:
      graph: of the lift.
      losses: the losses that are written.
      functions: lines of their functions.
      settings: {constant: value} of the scalars that were fed.
    """
    constants = [line for loss in losses for line in workload_style.constant_lines(loss.model, {})]
    text = "\n".join([*constants, *functions])
    named: Dict[str, Any] = {"tf": tf, "initializers": _workload_initializers, **workload_style.NAMED_VALUES}
    space = {**named, **settings, TABLES: tables_of(text, graph)}
    exec(text, space)
    return space


def _verdict(found: Mapping[str, Comparison], graph: Graph, data: str) -> Proof:
    """Returns the proof that the comparisons of all towers make.

    Args:
      found: {tower, in words: comparison}.
      graph: of the lift.
      data: what the towers were run on, in words.

    Raises:
      Unwritten: the results differ by more than rounding does.
    """
    differing = {f"{name} of {where}": one.largest for where, one in found.items() for name in one.differing}
    which, all_found = listed(list(differing), MOST_LISTED), list(found.values())
    if max(differing.values(), default=0.0) > MOST_DIFFERENCE:
        dense = sorted({name for one in all_found for name in one.dense})
        if dense:
            raise Unwritten(f"{_DENSE_FOR_ROWS} {listed(dense, MOST_LISTED)}")
        if not any(LOSS in one.differing for one in all_found):
            reason = f"loss: gradients of the old graph contain what the towers' losses do not: {which}"
            decorated = listed(custom_gradients(graph), MOST_LISTED)
            reason += f"; tf.custom_gradient decorates {decorated}" if decorated else ""
            reason += _WRONG_NORMALIZATION if normalizations_derived_wrongly(graph) else ""
            raise Unwritten(reason + (_WRONG_ELU if _derives_elu_wrongly(graph) else ""))
        raise Unwritten(f"model: on {data} it differs in {which}")
    sentence = f"loss, gradients and statistics of each tower have the old graph's bits on {data}"
    if differing:
        tensors = counted(
            len(differing), "loss, gradient or statistic differs", "losses, gradients or statistics differ"
        )
        why = _ROWS_IN_LOOPS if any(one.rows_in_loops for one in all_found) else ""
        why += _ROWS_IN_OTHER_ORDER if any(one.reordered_rows for one in all_found) else ""
        sentence = f"on {data}, {tensors} by rounding: {which}{why}"
    asked = next((one.asked for one in all_found if one.asked), [])
    return Proof(sentence, any(one.in_any_order for one in all_found), asked, len(differing))


def _overrides(plan: Plan, graph: Graph) -> str:
    """Returns which gradients the program has overridden that are not written, in words; "" for none.

    A cell that is one op is written with a gradient of its own, whether the program overrides it or an add-on has it.
    """
    ends = [parse_tensor_name(name).node for phase in plan.phases for name in phase.losses]
    return "; ".join(override_sentences(graph, ends, without=[BLOCK_CELL]))


def _derives_elu_wrongly(graph: Graph) -> bool:
    return any(is_wrong_derivative_of_elu(graph, name) for name in graph.nodes)


def setting_values(
    plan: Plan, names: Mapping[str, str], given: Mapping[str, str], examples: Sequence[Arrays] = ()
) -> tuple[Dict[str, Any], List[str]]:
    """Finds the values of scalars that were fed.

    Args:
      plan: of the lift.
      names: {constant of the text: scalar}.
      given: {scalar: text of its value}, as far as they are known.
      examples: the program's own batches that the source is proven on, whose other sizes may follow from a scalar, such
        as the number of graphs that a batch holds; () for made-up numbers.

    Returns:
      {constant: value}, of an integer a whole number, and the names of those whose value is assumed.
    """
    assumed_of = {name: examples[0][name] if examples else usual_setting(plan, name) for name in names.values()}
    integers = {entry.name for entry in plan.inputs + plan.common if "int" in entry.dtype}
    found = {
        source: float(given[source]) if source in given else float(assumed_of[source]) for source in names.values()
    }
    found.update((source, int(found[source])) for source in integers & set(found))
    assumed = [f"{source}={found[source]}" for source in names.values() if source not in given]
    return {constant: found[source] for constant, source in names.items()}, assumed
