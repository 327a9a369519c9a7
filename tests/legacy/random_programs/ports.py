"""The lift of a random program and its source in both styles, each trained beside the old graph."""

from __future__ import annotations

import functools
import pathlib
import re
import tempfile
from collections.abc import Callable

import tensorflow as tf

from legacy.saved.lifting import LiftOptions, lift_graph
from parity.comparison.setup import Setup
from tests.legacy.random_programs.programs import build_program
from tests.legacy.random_programs.traits import Traits
from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, assert_workload_verified, source_of
from tests.legacy.variants.programs import assert_same, setup_of
from workloads.lifted.sources import LiftedSynthetic
from workloads.numerics import gradient_sums
from workloads.support.errors import InputError

v1 = tf.compat.v1
#: Steps that are compared; the learning rate of programs that are fed with it.
STEPS, RATE = 3, 0.0625


def wrong_ports(traits: Traits) -> list[str]:
    """Returns what is wrong with a program's lift and its sources: bits that differ, raw ops, parts not written."""
    # A standalone source sets the order in which all gradients are added, as it is a process of its own.
    with tempfile.TemporaryDirectory() as name, gradient_sums.added_in_order(False):
        folder, rates = pathlib.Path(name), {"learning_rate": RATE} if traits.rate == "fed" else {}
        try:
            setup = lifted_program(traits, folder, rates)
        except InputError as error:
            return [f"lift refused: {error}"]
        found = _mistake("lift", lambda: assert_same(setup, STEPS))
        for style in ("workload", "standalone"):
            found += _mistake(style, functools.partial(_assert_whole_and_same, setup, style, rates, folder))
        return found


def lifted_program(traits: Traits, folder: pathlib.Path, rates: dict[str, float]) -> Setup:
    """Returns the setup of a program's lift and its old graph, which is fed with `rates`."""
    with tf.Graph().as_default() as graph:
        graph.seed = 1
        build_program(traits)
        v1.train.export_meta_graph(str(folder / "graph.meta"))
    lift_graph(str(folder / "graph.meta"), str(folder / "lifted"), options=LiftOptions(train_op=["train"]))
    return setup_of(str(folder / "lifted"), make_source=functools.partial(LiftedSynthetic, settings=rates))


def _assert_whole_and_same(setup: Setup, style: str, rates: dict[str, float], folder: pathlib.Path) -> None:
    source = source_of(setup, style, {name: str(rate) for name, rate in rates.items()})
    raw = [name for name in re.findall(r"raw_ops\.(\w+)", source.text) if not re.search("Apply|Scatter", name)]
    assert not raw, f"raw ops {raw}"
    assert any("have the old graph's bits on made-up numbers" in note for note in source.notes), source.notes
    if style == "standalone":
        assert_trains_alike(setup, folder, source, STEPS, settings=rates)
    else:
        check = assert_port_verified if "StepWorkload" in source.text else assert_workload_verified
        check(setup, folder, source, steps=STEPS, settings=rates)


def _mistake(what: str, check: Callable[[], object]) -> list[str]:
    """Returns a line on a check that fails; nothing for one that passes."""
    try:
        check()
    except (AssertionError, InputError) as error:
        return [f"{what}: {' '.join(str(error).split())}"]
    return []
