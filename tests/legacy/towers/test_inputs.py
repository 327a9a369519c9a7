import pytest

from legacy.options import INPUTS
from legacy.towers import inputs
from tests.cases import Everything, assert_same, records, setup
from workloads import sources

STEPS = 5


@pytest.fixture(scope="module")
def fed():
    """The records of towers that are fed."""
    return records(setup(Everything(), 3, 12).legacy_program(), STEPS)


@pytest.mark.parametrize("way", ["split", "queue", "dataset"])
def test_every_way_delivers_the_same_batches_to_the_same_towers(fed, way):
    assert_same(fed, records(setup(Everything(), 3, 12, legacy={"input": way}).legacy_program(), STEPS))


def test_resident_batches_are_the_first_at_every_step(fed):
    made = setup(Everything(), 3, 12, legacy={"input": "resident"}, source=sources.Resident)
    digests = [record.digests for record in records(made.legacy_program(), 2)]
    assert digests == [fed[0].digests] * 2


@pytest.mark.parametrize("way", ["feed", "split", "queue", "dataset"])
def test_a_fixed_source_reaches_every_tower_by_every_way(way):
    made = setup(Everything(), 2, 8, legacy={"input": way}, source=sources.Resident)
    first, second = records(made.legacy_program(), 2)
    assert first.digests == second.digests
    assert first.digests[0] != first.digests[1]


@pytest.mark.parametrize("way", ["feed", "dataset"])
def test_input_starts_at_the_loaded_step(fed, way):
    with setup(Everything(), 3, 12, legacy={"input": way}).legacy_program() as program:
        program.load(fed[1].state)
        record = program.step()
    assert record.step == 2
    assert record.digests == fed[2].digests


def test_towers_see_different_batches(fed):
    assert len({digest for record in fed for digest in record.digests}) == 3 * STEPS


def test_every_input_that_can_be_asked_for_has_its_class():
    assert sorted(inputs.TOWER_INPUTS) == sorted(INPUTS)
