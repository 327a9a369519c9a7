"""Lifts a saved graph: from the file that an old program left to a folder that is used like any other workload."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING

import numpy as np

from legacy.saved.analysis import analyse, initial_values
from legacy.saved.analysis.initializers import find_initializer
from legacy.saved.analysis.other_numbers.equal_copies import begun_apart
from legacy.saved.data_trial.fitting import fit_made_up_data
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.basics.unsafe_ops import python_in_model, python_note
from legacy.saved.facts.inputs.reshaped_rows import rows_of_reshapes
from legacy.saved.facts.inputs.tower_batch import usual_batch
from legacy.saved.facts.program_facts import description_fields, program_facts
from legacy.saved.graph import graph_file
from legacy.saved.graph.layout import as_requested
from legacy.saved.graph.sync_replicas import with_own_gradients
from legacy.saved.runs.fed_inputs import with_fed_inputs
from legacy.saved.runs.recorded_runs import ran_in_recording
from legacy.saved.runs.recorded_switches import recorded_switches
from workloads.lifted.folder import write_lift
from workloads.lifted.plan.settings import keep_settings
from workloads.lifted.replication import unequal_parts
from workloads.support.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from legacy.saved.analysis.analyse import Analysis
    from legacy.saved.graph.graph_file import SavedGraph
    from workloads.lifted.plan import Plan
    from workloads.program import Arrays


@dataclasses.dataclass(frozen=True)
class LiftOptions:
    """Description of how the old program ran its graph, which the graph does not hold, and choices of the lift.

    Attributes:
      train_op: names of the train ops, or empty for those of the recording beside the graph, or to find the one.
      beside: names of ops that each step ran beside the train op.
      feed: {placeholder: text of its value} of settings that are the same in every step; booleans that it lacks are
        those of the recording beside the graph, if there is one.
      carry: {fed tensor: tensor} of state that the program fetched and fed into the next step; None takes what the
        recording beside the graph shows.
      allow_ops: types of unsafe ops that may stay in the graph.
      layout: "NHWC" to rewrite what is computed in NCHW; None leaves the graph as it is.
      name: name of the workload; default: the file's name.
      settings: {scalar input: text of its value} of those that the program fed at every step.
      own_data: called with the analysis before data are made up for it; it may set their sizes and bounds, and returns
        batches of the program's own data, of each tower in one step after the other.
    """

    train_op: Sequence[str] = ()
    beside: Sequence[str] = ()
    feed: Mapping[str, str] = dataclasses.field(default_factory=dict)
    carry: Mapping[str, str] | None = None
    allow_ops: Collection[str] = ()
    layout: str | None = None
    name: str | None = None
    settings: Mapping[str, str] = dataclasses.field(default_factory=dict)
    own_data: Callable[[Analysis], Sequence[Arrays]] | None = None


DEFAULTS = LiftOptions()


def lift_graph(
    path: str,
    out: str | None,
    checkpoint: str | None = None,
    options: LiftOptions = DEFAULTS,
    progress: Callable[[str], None] | None = None,
    use: Callable[[Analysis, Arrays], None] | None = None,
) -> Plan:
    """Lifts a saved graph into a folder.

    Args:
      path: the graph file.
      out: the folder to write; None writes none.
      checkpoint: the checkpoint of the values to start from, or None for the graph's own initial values.
      options: see `LiftOptions`.
      progress: called with a description of each part of the work as it begins.
      use: called with the analysis and the values that the variables start from, when both are complete.

    Returns:
      The plan.

    Raises:
      InputError: the graph or the checkpoint cannot be used, or the graph runs unsafe ops that were not allowed.
    """
    report = progress or (lambda text: None)
    report("reading " + path)
    saved = as_requested(with_own_gradients(with_fed_inputs(graph_file.read_graph_file(path))), options.layout)
    name = options.name or os.path.basename(path).partition(".")[0]
    options = _with_recorded(saved, options, report)
    report("taking the training step apart")
    found = analyse.analyse_graph(saved, name, options.train_op, options.feed, options.carry, options.beside)
    require_safe(found.plan, options.allow_ops)
    require_equal_parts(found.plan)
    found.plan.notes += filter(None, [python_note(found.plan)])
    keep_settings(found.plan, options.settings)
    report("collecting values")
    found = found._replace(start=_start_values(found, checkpoint))
    _describe_start(found)
    start = found.start.arrays
    if found.plan.batch is None:
        found.plan.batch = rows_of_reshapes(AnalysedStep(found))  # the graph runs with no other number
    found.plan.usual_batch = usual_batch(AnalysedStep(found))
    own: Sequence[Arrays] = ()
    if options.own_data is not None:
        report("reading data")
        own = options.own_data(found)
    report("trying made-up data")
    fit_made_up_data(found.plan, found.context, start, own)
    found.plan.about = dict(description_fields(program_facts(saved, found)), graph=os.path.basename(path))
    found.plan.about["written by TensorFlow"] = saved.written_by
    if out:
        report("writing " + out)
        write_lift(out, found.plan, found.cut.graph.graph_def, start, own[: found.plan.own_batches])
    if use is not None:
        use(found, start)
    return found.plan


def _with_recorded(saved: SavedGraph, options: LiftOptions, report: Callable[[str], None]) -> LiftOptions:
    """Returns options with the switches and train ops of the recording beside the graph, where none are given."""
    options = dataclasses.replace(options, feed={**recorded_switches(saved), **options.feed})
    ran = None if options.train_op or options.beside else ran_in_recording(saved, options.feed)
    if ran is None or not ran.train_op:
        return options
    report("train ops of the recording beside the graph: " + ran.describe())
    return dataclasses.replace(options, train_op=ran.train_op, beside=ran.beside)


def _describe_start(found: Analysis) -> None:
    """Adds to the plan what the values that variables start from tell: notes, shapes, and which begin apart."""
    plan, start = found.plan, found.start.arrays
    plan.notes += filter(None, initial_values.texts_of_values(found.start))
    apart = begun_apart(found.own_variables, plan, start)
    plan.own_variables = list(dict.fromkeys([*plan.own_variables, *apart]))
    for variable in plan.variables:
        variable.shape = list(start[variable.name].shape)
        if variable.role == "weight":
            variable.initializer = str(find_initializer(found.whole, variable.name, variable.shape) or "")


def _start_values(found: Analysis, checkpoint: str | None) -> initial_values.StartValues:
    """Returns the values that variables start from: a checkpoint's or the initializers', and settings that were fed."""
    if checkpoint:
        values = initial_values.values_from_checkpoint(checkpoint, found.plan, found.whole)
    else:
        start = initial_values.values_from_initializers([v.name for v in found.plan.variables], found.whole)
        start.update(initial_values.values_of_copies(found.plan, found.whole, start))
        values = initial_values.StartValues(start, [])
    start = values.arrays
    fed = {name: np.array(value, start[name].dtype) for name, value in found.plan.settings.items() if name in start}
    assumed = [name for name in fed if checkpoint and name not in found.given]
    held = {name: start[name].item() for name in assumed if start[name].item() != fed[name].item()}
    start.update(fed)
    return values._replace(held=held)


def require_equal_parts(plan: Plan) -> None:
    """Raises `InputError` if the towers' graphs are made for different numbers of examples."""
    reason = unequal_parts(plan)
    if reason:
        raise InputError(f"graph file: {reason}: their gradients hold these numbers as constants")


def require_safe(plan: Plan, allow_ops: Collection[str]) -> None:
    """Raises `InputError` if a step runs unsafe ops of types that are not in `allow_ops`."""
    refused = {node: op for node, op in plan.unsafe.items() if op not in allow_ops}
    in_model = {node: op for node, op in refused.items() if node in python_in_model(plan)}
    if in_model:
        listed = ", ".join(f"{node} ({op})" for node, op in sorted(in_model.items())[:8])
        raise InputError(
            f"graph file: the model runs Python, whose code is not in the graph: {listed}; with "
            f"--allow_ops={','.join(sorted(set(in_model.values())))} a lift takes its results as data"
        )
    if refused:
        listed = ", ".join(f"{node} ({op})" for node, op in sorted(refused.items())[:8])
        raise InputError(
            "graph file: a step of this graph runs Python, touches files or reaches the network: "
            f"{listed}; if you trust it, --allow_ops={','.join(sorted(set(refused.values())))}"
        )
