"""Correspondence of random streams, and what is on one side only."""

import doctest

import pytest

from parity.against import noise_names
from parity.against.noise_names import match_noise
from tests.small_lift import small_plan
from workloads.frame import NoiseSpec
from workloads.lifted.plan import Noise
from workloads.support.errors import InputError

UNIFORM = NoiseSpec(())


def noisy(*names, **fields):
    plan = small_plan()
    made = {"op": "RandomUniform", "how": "keyed", **fields}
    plan.noise = [Noise(name, nodes=[name, name + "_1"], **made) for name in names]
    return plan


def test_the_docstrings_examples_hold():
    assert doctest.testmod(noise_names).failed == 0


def test_noise_corresponds_by_its_place_in_the_path():
    first, second = "tower_0/fc1/dropout/uniform/RandomUniform", "tower_0/fc2/dropout/uniform/RandomUniform"
    found = match_noise(noisy(first, second), {"fc2/dropout": UNIFORM, "fc1/dropout": UNIFORM})
    assert found == {first: "fc1/dropout", second: "fc2/dropout"}
    assert match_noise(noisy(first), {first: UNIFORM}) == {first: first}
    assert match_noise(noisy(first), {"mask": UNIFORM}) == {first: "mask"}
    assert match_noise(noisy(), {}) == {}
    assert match_noise(noisy("z", op="RandomStandardNormal"), {"z": NoiseSpec((), "normal")}) == {"z": "z"}


@pytest.mark.parametrize(
    "plan, drawn, message",
    [
        (noisy("a/drop"), {}, "the port draws none for 'a/drop'"),
        (noisy(), {"drop": UNIFORM}, "the old graph draws none for 'drop'"),
        (noisy("a/drop", "b/drop"), {"drop": UNIFORM}, "draws none for 'drop', or several"),
        (noisy("a", op="RandomStandardNormal"), {"a": UNIFORM}, "'a' is RandomStandardNormal, and the port's 'a' is"),
        (noisy("a", op="RandomGamma"), {"a": UNIFORM}, "'a' is RandomGamma, and a workload draws uniform and normal"),
        (noisy("a", op="Multinomial"), {"a": UNIFORM}, "'a' is Multinomial, and the port's 'a' is uniform"),
        (noisy("a", in_loop=True), {"a": UNIFORM}, "'a' is drawn in a loop, and the port's 'a' drawn once a step"),
        (
            noisy("a"),
            {"a": NoiseSpec((), in_loop=True)},
            "'a' is drawn once a step, and the port's 'a' drawn in a loop",
        ),
    ],
)
def test_noise_on_one_side_only_is_named(plan, drawn, message):
    with pytest.raises(InputError) as error:
        match_noise(plan, drawn)
    assert message in str(error.value)


def test_ops_that_draw_by_their_seeds_are_left_to_the_port():
    plan = noisy("a")
    plan.noise.append(Noise("s", "LogUniformCandidateSampler", "seeded", ["s0", "s1"]))
    assert match_noise(plan, {"a": UNIFORM}) == {"a": "a"}
    plan.noise[-1].how = "keyed"
    with pytest.raises(InputError, match="'s' is LogUniformCandidateSampler"):
        match_noise(plan, {"a": UNIFORM})


def test_noise_of_all_towers_is_drawn_once_on_both_sides():
    plan = noisy("own")
    plan.common_noise = [Noise("all", "RandomUniform", "keyed", ["all"])]
    common = UNIFORM._replace(is_common=True)
    assert match_noise(plan, {"all": common, "own": UNIFORM}) == {"all": "all", "own": "own"}
    with pytest.raises(InputError, match="'all' is drawn once for all towers, and the port's 'all' by each tower"):
        match_noise(plan, {"all": UNIFORM, "own": UNIFORM})
    with pytest.raises(InputError, match="'own' is drawn by each tower, and the port's 'own' once for all towers"):
        match_noise(plan, {"all": common, "own": common})
