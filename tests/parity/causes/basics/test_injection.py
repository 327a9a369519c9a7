import pytest

from legacy.options import LegacyOptions
from modern.mirrored.program import ModernProgram
from modern.mirrored.step.replica_step import ReplicaStep
from modern.options import ModernOptions
from parity.causes.basics import injection
from parity.comparison.setup import Setup
from tests.cases import Dyadic
from tests.parity.step_records import MadeUpProgram, made_up_state, step_record
from workloads.job import Job
from workloads.models import regression
from workloads.sources import Resident, Synthetic
from workloads.workload import Clip


class OneCpu(Setup):
    """A setup that divides no CPU."""

    def devices(self):
        return ["CPU:0"]


SETUP = OneCpu(Job(Dyadic(), 2, 8), Synthetic, LegacyOptions(), ModernOptions())


@pytest.fixture
def programs(monkeypatch):
    """Builds a made-up program for each `ModernProgram`; returns the list of (job, source, options, devices)."""
    built = []

    def program_class(change):
        def build(*arguments):
            built.append(arguments)
            return MadeUpProgram([step_record(losses=[2.0])], made_up_state({"w": [4.0]}))

        return build

    monkeypatch.setattr(injection.Change, "_program_class", program_class)
    return built


def test_changes_add_up(programs):
    change = (
        injection.in_workload(lambda job: {"combine": "sum"})
        + injection.in_job(lambda job: {"global_batch": 2 * job.global_batch})
        + injection.in_options(update_rules="keras")
        + injection.in_source(lambda original: Resident)
    )
    change(SETUP)
    ((job, source, options, devices),) = programs
    assert (job.workload.combine, job.global_batch, job.replicas) == ("sum", 16, 2)
    assert (options.update_rules, devices) == ("keras", ["CPU:0"])
    assert type(source) is Resident
    assert SETUP.job.workload.combine == "mean"


def test_no_change_starts_where_the_program_starts(programs):
    program = injection.Change()(SETUP)
    assert program.loaded == []
    assert programs[0][0] == SETUP.job


def test_a_changed_first_state_is_loaded(programs):
    seen = []

    def double(state, setup):
        seen.append(setup.job.replicas)
        state.weights["w"] = state.weights["w"] * 2

    program = injection.in_first_state(double)(SETUP)
    assert seen == [2]
    assert [float(state.weights["w"][0]) for state in program.loaded] == [8.0]


def test_a_given_state_is_copied_before_it_is_changed(programs):
    start = made_up_state({"w": [1.0]})

    def set_to_three(state, setup):
        state.weights["w"][0] = 3.0

    program = injection.in_first_state(set_to_three)(SETUP, start)
    assert float(program.loaded[0].weights["w"][0]) == 3.0
    assert float(start.weights["w"][0]) == 1.0
    assert injection.Change()(SETUP, start).loaded[0].weights["w"][0] == 1.0


def test_records_are_changed_in_order(programs):
    def add_one(record):
        record.losses = [loss + 1 for loss in record.losses]

    def double(record):
        record.losses = [2 * loss for loss in record.losses]

    program = (injection.in_records(add_one) + injection.in_records(double))(SETUP)
    assert program.step().losses == [6.0]


def test_a_faulty_program_has_all_steps_and_wrapped_rules(monkeypatch):
    class First(injection.ScaledStep):
        pass

    class Second(injection.ScaledStep):
        pass

    change = injection.in_replica_step(First) + injection.in_replica_step(Second)
    change += injection.in_update_rules(lambda rules: rules + ["first"])
    change += injection.in_update_rules(lambda rules: rules + ["second"])
    made = change._program_class()
    assert made.step_class.__mro__[1:3] == (First, Second)
    monkeypatch.setattr(ModernProgram, "_make_rules", lambda self, state: ["own"])
    assert made._make_rules(object.__new__(made), None) == ["own", "first", "second"]
    assert injection.Change()._program_class().step_class is ReplicaStep


def test_wrapped_rules_pass_everything_on():
    calls = []

    class Recording:
        def __getattr__(self, name):
            return lambda *arguments: calls.append((name, *arguments)) or name

    rules = injection.WrappedRules(Recording())
    assert (rules.describe(), rules.slots(1, float)) == ("describe", "slots")
    rules.apply(1, {}, 0.5)
    rules.load(2, float)
    assert calls == [("describe",), ("slots", 1, float), ("apply", 1, {}, 0.5), ("load", 2, float)]


def test_a_towers_function_is_replaced_while_the_towers_are_built(monkeypatch):
    from legacy.towers import graph

    monkeypatch.setattr(graph, "tower_loss", lambda: 2.0)
    monkeypatch.setattr(injection, "LegacyProgram", lambda *arguments: graph.tower_loss())
    inject = injection.in_towers("tower_loss", lambda original: lambda: 10 * original())
    assert inject(SETUP) == 20.0
    assert graph.tower_loss() == 2.0


def test_workloads_are_adapted():
    assert injection.with_fields(global_batch=12)(Dyadic()) == Dyadic(global_batch=12)
    assert injection.without_clip(Dyadic(clip=Clip(1.0))) == Dyadic()
    assert injection.with_clip("tower")(regression.SMALL).clip == Clip(10.0, "tower", "global_norm")
    assert injection.with_clip("combined", bite=0.25)(Dyadic()).clip == Clip(0.25, "combined", "global_norm")
    assert injection.with_clip("combined", "value")(Dyadic()).clip == Clip(0.5 / 64, "combined", "value")


def test_a_scaled_step_without_a_factor_changes_nothing():
    assert object.__new__(injection.ScaledStep).factor() == 1.0
