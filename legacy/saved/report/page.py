"""Contents of the page of `legacy.inspect`: the facts and hazards of a saved graph, as rows."""

from __future__ import annotations

import collections
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Tuple

from legacy.saved.analysis import analyse
from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.rows import ASSUMED, NOT_ANALYSED, Sections
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.facts.program_facts import program_facts
from legacy.saved.facts.whole_facts import whole_facts
from legacy.saved.graph import graph_file
from legacy.saved.graph.layout import as_requested, channels_first
from legacy.saved.graph.sync_replicas import with_own_gradients
from legacy.saved.hazards.search import find_hazards
from legacy.saved.report.next_step import layout_rows, next_rows, with_other_runs
from legacy.saved.report.single_nodes import loss_rows, statistic_rows
from legacy.saved.report.single_rates import rate_rows
from legacy.saved.runs.fed_inputs import with_fed_inputs
from legacy.saved.runs.recorded_feeds import carry_flag
from legacy.saved.runs.recorded_runs import Ran, ran_in_recording
from legacy.saved.runs.recorded_switches import recorded_switches
from legacy.saved.runs.train_ops import TrainOpError
from workloads.support.errors import InputError

#: Sections of a graph that cannot be analysed, in the order of the page.
ORDER = (
    *("program", "towers", "inputs", "losses", "optimizers", "learning rates"),
    *("variables", "statistics", "devices"),
)


def inspect_graph(
    path: str,
    train_op: Sequence[str] = (),
    feed: Mapping[str, str] | None = None,
    beside: Sequence[str] = (),
    layout: str | None = None,
) -> Sections:
    """Reads and describes a saved graph.

    Args:
      path: the graph file.
      train_op: names of the train ops, or empty for those of the recording beside the graph, or to find the one; of
        several, the page assumes that they take turns.
      feed: {placeholder: text of its value} of settings that are the same in every step; booleans that it lacks are
        those of the recording beside the graph, if there is one.
      beside: names of ops that each step ran beside the train op.
      layout: "NHWC" to rewrite what is computed in NCHW; None leaves the graph as it is.

    Returns:
      {section: rows}: those of `program_facts`, "hazards" and "next", and before them what was assumed of the train
      ops (`ASSUMED`), if anything; of a graph that cannot be analysed, the reason (`NOT_ANALYSED`), those of
      `whole_facts`, "hazards" and "next".

    Raises:
      InputError: the file holds no graph, or one that cannot be analysed, has no hazards and trains nothing.
    """
    saved = as_requested(with_own_gradients(with_fed_inputs(graph_file.read_graph_file(path))), layout)
    recorded = recorded_switches(saved)
    feed = {**recorded, **(feed or {})}
    try:
        analysed = _analysed(saved, Ran(train_op, beside), feed)
    except InputError as error:
        return _sections_without_analysis(saved, error)
    found = analysed.analysis
    sections: Sections = collections.OrderedDict()
    texts = [*analysed.assumptions, *_recorded_settings(recorded, feed)]
    if texts:
        sections[ASSUMED] = [{"what": text} for text in texts]
    sections.update(program_facts(saved, found))
    sections["hazards"] = find_hazards(saved, found)
    flags = [*analysed.flags, *_setting_flags(feed, layout), *carry_flag(found.fed)]
    rows = next_rows(found.plan, path, flags)
    if analysed.are_guessed:
        are_alike = len({frozenset(one.weight for one in phase.combine) for phase in found.plan.phases}) == 1
        rows = with_other_runs(rows, analysed.runs.train_op, are_alike=are_alike)
    sections["next"] = rows + layout_rows(len(channels_first(found.cut.graph)))
    return sections


class _Analysed(NamedTuple):
    """An analysis, and the runs of the program that it is of.

    Attributes:
      analysis: of the step.
      runs: what the program runs.
      assumptions: sentences on what was assumed of the runs.
      are_guessed: whether several train ops are only assumed to take turns.
      flags: of `legacy.lift`, which name the runs; none where it finds them by itself.
    """

    analysis: Analysis
    runs: Ran
    assumptions: Sequence[str] = ()
    are_guessed: bool = False
    flags: Sequence[str] = ()


def _analysed(saved: graph_file.SavedGraph, named: Ran, feed: Mapping[str, str]) -> _Analysed:
    """Analyses the steps that the named runs make, or else those of the recording beside the graph, or likely ones.

    Args:
      saved: the graph.
      named: the runs that flags name; empty if none does.
      feed: {placeholder: text of its value} of settings.

    Returns:
      The analysis and its runs.

    Raises:
      InputError: the graph cannot be analysed.
    """

    def analyse_runs(runs: Ran) -> Analysis:
        return analyse.analyse_graph(saved, os.path.basename(saved.path), runs.train_op, feed, beside=runs.beside)

    if named.train_op or named.beside:
        return _Analysed(analyse_runs(named), named, flags=named.flags())
    recorded = ran_in_recording(saved, feed)
    found, runs, assumed = _with_likely_runs(analyse_runs, recorded)
    # `legacy.lift` reads the recording, too; the names of a long run would hide the rest of the command.
    is_found_again = runs == (recorded if recorded.is_long else Ran())
    return _Analysed(
        analysis=found,
        runs=runs,
        assumptions=[assumed] if assumed else [],
        are_guessed=not recorded.train_op and len(runs.train_op) > 1,
        flags=[] if is_found_again else runs.flags(),
    )


def _recorded_settings(recorded: Mapping[str, str], feed: Mapping[str, str]) -> list[str]:
    """Sentences on the settings that are those of the recording, {placeholder: value}, since no flag gives others."""
    return [
        f"{name} is {value}, as in the recording beside the graph; --feed={name}=... overrides that"
        for name, value in recorded.items()
        if feed[name] == value
    ]


def _setting_flags(feed: Mapping[str, str], layout: str | None) -> list[str]:
    """The flags of `legacy.lift` for the settings, {placeholder: text of its value}, and for the layout."""
    flags = ["--feed=" + ",".join(f"{name}={value}" for name, value in feed.items())] if feed else []
    return flags + ([f"--layout={layout}"] if layout else [])


def _with_likely_runs(analyse_runs: Callable[[Ran], Analysis], recorded: Ran) -> Tuple[Analysis, Ran, str]:
    """Analyses a graph whose train ops were not named: those of its recording, the one there is, or those likely.

    Args:
      analyse_runs: returns the analysis of the steps that some runs make.
      recorded: what the recording beside the graph ran; empty without one, or where the graph suggests the same.

    Returns:
      The analysis, the runs, and a sentence that says what was assumed; "" if nothing was.

    Raises:
      InputError: what `analyse_runs` raises for the runs of the recording, or for the one train op.
    """
    if recorded.train_op:
        text = f"the program runs {recorded.describe()}, as in the recording beside the graph; --train_op names others"
        return analyse_runs(recorded), recorded, text
    try:
        return analyse_runs(Ran()), Ran(), ""
    except TrainOpError as error:
        if not error.likely:
            raise
        likely = Ran(error.likely)
        try:
            found = analyse_runs(likely)
        except InputError:
            raise error from None
        how = ", each in a run of its own and as often as the others" if len(likely.train_op) > 1 else " alone"
        text = f"the program runs {likely.describe()}{how}; the graph"
        return found, likely, f"{text} does not say so: if not, name its runs with --train_op"


def _sections_without_analysis(saved: graph_file.SavedGraph, error: InputError) -> Sections:
    """Sections of a graph that cannot be analysed: the reason, and all that is known without an analysis."""
    whole = WholeGraph(saved)
    rows = find_hazards(saved, whole=whole)
    if not rows and not whole.applies:
        raise error
    sections: Sections = collections.OrderedDict([(NOT_ANALYSED, [{"what": str(error)}])])
    facts = whole_facts(saved, whole)
    rows_told = {"losses": loss_rows(whole), "learning rates": rate_rows(whole), "statistics": statistic_rows(whole)}
    facts.update({title: told for title, told in rows_told.items() if told})
    sections.update(sorted(facts.items(), key=lambda entry: ORDER.index(entry[0])))
    sections["hazards"] = rows
    sections["next"] = [{"what": "can be lifted", "is": f"no: {error}"}]
    if isinstance(error, TrainOpError):
        command = " ".join(map(shlex.quote, ["python", "-m", "legacy.inspect", saved.path, "--train_op=NAME"]))
        sections["next"].append({"what": "next command", "is": command})
    return sections
