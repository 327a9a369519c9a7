import contextlib
import dataclasses
import itertools
import weakref

import numpy as np
import pytest

from parity.comparison import stages
from parity.comparison.result import Verdict
from parity.comparison.runs.options import Companions, Criterion, Observers
from parity.comparison.runs.verification import verify
from parity.comparison.tour import Tour
from parity.verdict.rule_check import RuleCheck
from tests.cases import Dyadic, Everything, setup
from tests.marks import slow_after
from tests.parity.step_records import MadeUpProgram, made_up_state, step_record
from workloads.data import image_source
from workloads.models import cifar_cnn
from workloads.selection import registry
from workloads.variable_spec import VariableSpec
from workloads.workload import MovingAverage


def exact(made, steps=3, mode="free"):
    with made.legacy_program() as left, made.modern_program() as right:
        return verify(left, right, made.job, steps, Criterion(mode, "exact"))


class DrawnOnce(Dyadic):
    """All replicas' losses are multiplied by one random number."""

    def loss(self, scope, batch):
        return super().loss(scope, batch) * scope.common.uniform("factor", ())


def test_towers_and_replicas_draw_the_numbers_that_all_have():
    assert exact(setup(DrawnOnce(), 3)).passed


SIZES = [(3, "float32"), (2, "float64"), (1, "float32"), (8, "float32")]
#: Every system in float32; in float64 one with statistics and one whose layers are used at several places.
FIRST = [(name, 3, "float32") for name in registry.NAMES]
FIRST += [("resnet18", 2, "float64"), ("stacked_lstm", 2, "float64")]
ALL = [(name, *size) for name in registry.NAMES for size in SIZES]
CASES = FIRST + [case for case in ALL if case not in FIRST]


@pytest.mark.parametrize("name, replicas, dtype", slow_after(len(FIRST), CASES))
def test_the_five_systems_have_identical_bits(name, replicas, dtype):
    result = exact(setup(name, replicas, dtype=dtype))
    assert result.passed
    assert all(stage.differing_elements == 0 for stage in result.stages.values())
    assert result.stages[stages.LOSS].tensors == 3 * replicas


#: The first four have every two choices together; all eight are slow.
WAYS = sorted(
    itertools.product(("stack", "add_n"), ("first_tower", "mean_of_towers"), ("mean", "sum")),
    key=lambda way: (way[0] == "add_n") ^ (way[1] == "mean_of_towers") ^ (way[2] == "sum"),
)


@pytest.mark.parametrize("average, statistics, combine", slow_after(4, WAYS))
def test_every_way_to_combine_has_identical_bits(average, statistics, combine):
    workload = Everything(statistics=statistics, combine=combine, moving_average=MovingAverage())
    made = setup(workload, 5, 20, legacy={"average": average}, modern={"average": average})
    assert exact(made).passed


def test_locked_mode_has_identical_bits():
    assert exact(setup(Everything(), 2), mode="locked").passed


def auto(made, steps=6):
    with contextlib.ExitStack() as stack:
        left, right, lockstep = (
            stack.enter_context(make()) for make in (made.legacy_program, made.modern_program, made.modern_program)
        )
        floor = stack.enter_context(made.closing_references())
        return verify(left, right, made.job, steps, Criterion("free", "auto"), Companions(lockstep, floor))


@pytest.mark.slow
@pytest.mark.parametrize("name", registry.NAMES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_default_reduction_passes_auto(name, dtype):
    result = auto(setup(name, 4, dtype=dtype, modern={"all_reduce": "auto"}))
    assert result.passed, result.first
    assert result.floor[stages.LOSS]["legacy_to_itself"] == 0


def test_the_floor_tells_legacy_from_truth():
    result = auto(setup(Everything(), 2), steps=3)
    gradients = result.floor[stages.GRADIENTS]
    assert 1e-8 < gradients["legacy_to_truth"] < 1e-4
    assert gradients["modern_over_legacy"] == 1.0  # identical bits are equally far


def test_an_overflow_in_the_same_places_passes_and_is_said():
    workload = dataclasses.replace(
        cifar_cnn.SMALL, learning_rate=dataclasses.replace(cifar_cnn.SMALL.learning_rate, rate=1e30)
    )
    result = exact(setup(workload, 2), steps=4)
    assert result.passed
    assert result.stages[stages.LOSS].nonfinite > 0


class Fixed(MadeUpProgram):
    """Steps through given records of given variables."""

    def __init__(self, specs, state, records):
        super().__init__(records, state)
        self._specs = specs

    def variables(self):
        return self._specs


def test_a_nan_on_one_side_never_passes():
    made = setup(Everything(), 2)
    with made.legacy_program() as program:
        specs, start, record = program.variables(), program.state(), program.step()
    broken = dataclasses.replace(record, losses=[np.float32("nan"), record.losses[1]])
    result = verify(
        Fixed(specs, start, [record]), Fixed(specs, start, [broken]), made.job, 1, Criterion("free", "auto")
    )
    assert (result.passed, result.first.stage) == (False, stages.LOSS)


def test_a_drifting_copy_fails_though_every_tensor_agrees():
    made = setup(Everything(), 2)
    with made.legacy_program() as program:
        specs, start, record = program.variables(), program.state(), program.step()
    drifted = dataclasses.replace(record, drift=["first/weights"])
    result = verify(
        Fixed(specs, start, [record]), Fixed(specs, start, [drifted]), made.job, 1, Criterion("free", "exact")
    )
    assert (result.passed, result.drift) == (False, ["first/weights at step 0"])


def test_variables_are_matched_before_any_number():
    spec = VariableSpec("w", (2,), "float32", True, None)
    result = verify(Fixed([spec], None, []), Fixed([], None, []), None, 3)
    assert (result.passed, result.steps, result.mismatched) == (False, 0, ["w: only on the left"])


def test_real_pictures_reach_both_sides_the_same():
    rng = np.random.RandomState(0)
    images = rng.randint(0, 256, (300, 32, 32, 3)).astype(np.uint8)
    labels = rng.randint(0, 10, 300).astype(np.int32)
    made = setup("cifar_cnn", 2, 64, source=lambda job: image_source.ImageSource(job, images, labels))
    assert exact(made, steps=6).passed  # six steps of 64 pass the end of the epoch


class Endless(MadeUpProgram):
    """Makes a new record at each step, and notes which of their gradients are still in memory."""

    def __init__(self):
        super().__init__([])
        self._references = []

    def step(self):
        step = len(self._references)
        gradient = np.full(2, 0.5 * step, np.float32)
        self._references.append(weakref.ref(gradient))
        weights = {"w": np.full(2, 1.0 + step, np.float32)}
        state = made_up_state(weights, step=step + 1)
        return step_record(step, [1.0, 1.0], [{"w": gradient}] * 2, {"w": gradient}, 0.0625, state)

    @property
    def kept(self):
        return sum(reference() is not None for reference in self._references)


class Hoard(Tour):
    """Keeps every record."""

    def __init__(self):
        self.records = []

    def observe(self, before, record, visit):
        self.records.append(record)

    def visits(self, last):
        return iter(())


@pytest.mark.parametrize("tolerance_name", ["exact", "auto"])
@pytest.mark.parametrize("hoard", [None, Hoard()], ids=["alone", "with a tour that keeps them"])
def test_records_are_let_go_of_as_the_steps_go_on(tolerance_name, hoard):
    job = setup(Dyadic(), 2).job
    left, right, lockstep = Endless(), Endless(), Endless()
    observers = Observers(tour=hoard, rules=RuleCheck(job))
    verify(left, right, job, 30, Criterion("free", tolerance_name), Companions(lockstep), observers)
    assert left.kept == 30 if hoard else left.kept <= 2
    assert right.kept <= 2 and lockstep.kept <= 2


@pytest.mark.parametrize(
    "gradient, after, is_training", [(1.0, 2.0, True), (0.0, 2.0, False), (1.0, 1.0, False), (0.0, 1.0, False)]
)
def test_a_program_that_trains_nothing_has_no_parity_to_show(gradient, after, is_training):
    def program():
        state = made_up_state({"w": [after]}, step=1)
        record = step_record(0, [1.0], [{"w": [gradient]}], {"w": [gradient]}, 0.5, state)
        return MadeUpProgram([record], made_up_state({"w": [1.0]}))

    result = verify(program(), program(), setup(Dyadic(), 1).job, 1)
    assert result.passed and (result.verdict is Verdict.PARITY) == is_training
    assert bool(result.not_shown) != is_training


def test_no_step_is_not_called_idle():
    assert verify(MadeUpProgram([]), MadeUpProgram([]), setup(Dyadic(), 1).job, 0).not_shown == []
