"""The program that a source is written of, and the changes to its plan and graph that its text begins with."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Dict, Mapping, NamedTuple

from legacy.source.basics.divided_losses import with_sizes_in_losses
from legacy.source.basics.inner_targets import with_inner_targets
from legacy.source.basics.old_derivatives import with_old_derivatives, with_waits
from legacy.source.basics.stopped_labels import with_stopped_labels
from legacy.source.copies_of_others import with_others_stopped
from legacy.source.lookups.dense_uses import with_rows_of_dense_uses
from legacy.source.lookups.joined_lookups import with_joined_lookups
from legacy.source.lookups.rows_set_before import with_rows_set_before
from legacy.source.overrides.marking import with_overridden_gradients
from legacy.source.step.dealt_inputs import with_dealt_inputs
from legacy.source.step.towers import tensors_of_towers
from legacy.source.tables import with_equal_tables_joined
from legacy.source.update.divided_sums import with_returned_numbers
from legacy.source.update.joined_parts import with_joined_parts
from workloads.lifted.fixed_copies import fixed_copies
from workloads.lifted.model_copies import model_copies, with_one_model
from workloads.lifted.summed_uses import with_sums_of_uses
from workloads.lifted.synced_copies import with_weights_for_copies

if TYPE_CHECKING:
    import numpy as np

    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Plan


class OldProgram(NamedTuple):
    """A program that a source is written of.

    Attributes:
      plan: of its lift.
      graph: of its lift.
      whole: the whole graph, with its initializers.
      initial: {variable: value to start from}.
      copies: {variable of a later tower, which the source does not have: the first tower's}.
    """

    plan: Plan
    graph: Graph
    whole: Graph
    initial: Dict[str, np.ndarray]
    copies: Mapping[str, str] = {}


def prepared(program: OldProgram) -> OldProgram:
    """Returns a program whose graph has all that its losses are differentiated with, and that a text can say."""
    plan, graph = with_weights_for_copies(program.plan, program.graph, program.initial)
    plan, dealt = with_dealt_inputs(plan, graph)
    plan, dealt = with_sums_of_uses(plan, dealt)
    program = program._replace(plan=plan)
    joined = with_equal_tables_joined(dealt)
    joined = with_rows_set_before(plan, joined)
    graph = with_inner_targets(joined, program.whole, tensors_of_towers(program.plan))
    graph = with_waits(program.plan, with_old_derivatives(with_stopped_labels(graph)))
    plan, graph = with_rows_of_dense_uses(program.plan, graph)
    plan, graph = with_joined_lookups(plan, graph)
    plan, graph = with_sizes_in_losses(plan, with_overridden_gradients(graph))
    plan, graph = with_joined_parts(plan, graph)
    plan = with_returned_numbers(plan, graph)
    return with_shared_variables(program._replace(plan=plan, graph=graph))


def with_shared_variables(program: OldProgram) -> OldProgram:
    """Returns a program whose towers share the first one's variables, if each has a copy of all, or of fixed ones."""
    copies = model_copies(program.plan, program.graph, program.initial)
    if not copies:
        return _with_shared_fixed_ones(program)
    stopped = with_others_stopped(program.plan, program.graph, copies)
    plan, graph = with_one_model(program.plan, stopped, copies)
    note = "each tower has variables of its own, with equal values and updates; here all share the first tower's"
    if any(variable.role == "statistic" and variable.name in copies for variable in program.plan.variables):
        note += "; statistics of the other towers' batches, on which no training depends, are left out"
    about = {**plan.about, "watch": [note, *plan.about.get("watch", [])]}
    return program._replace(plan=dataclasses.replace(plan, about=about), graph=graph, copies=copies)


def _with_shared_fixed_ones(program: OldProgram) -> OldProgram:
    """Returns a program whose towers share the first one's variables in place of equal ones that no step changes."""
    copies = fixed_copies(program.plan, program.graph, program.initial)
    if not copies:
        return program
    plan, graph = with_one_model(program.plan, program.graph, copies)
    note = "each tower has fixed variables of its own, with equal values; here all share the first tower's"
    about = {**plan.about, "watch": [note, *plan.about.get("watch", [])]}
    return program._replace(plan=dataclasses.replace(plan, about=about), graph=graph, copies=copies)
