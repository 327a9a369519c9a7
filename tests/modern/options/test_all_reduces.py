import pytest

from modern.collectives.all_reduce import TowerOrder, communication_implementation, make_cross_device_ops
from modern.options.all_reduces import ALL_REDUCES, STRATEGYS_OWN
from workloads.support.errors import InputError


def test_every_row_is_found_by_its_name():
    assert [name for name, row in ALL_REDUCES.items() if row.name != name] == []


@pytest.mark.parametrize("name", [name for name, row in ALL_REDUCES.items() if not row.gpus and row.in_process])
def test_every_row_for_one_process_can_be_made(name):
    made = make_cross_device_ops(name, "stack", 2)
    assert (made is None) == (ALL_REDUCES[name].in_process == STRATEGYS_OWN)
    assert isinstance(made, TowerOrder) == ALL_REDUCES[name].in_order


@pytest.mark.parametrize("name", list(ALL_REDUCES))
def test_a_row_is_between_workers_or_refused_there(name):
    if ALL_REDUCES[name].between_workers:
        assert communication_implementation(name).value == ALL_REDUCES[name].between_workers
    else:
        with pytest.raises(
            InputError, match=f"--all_reduce: got '{name}', between workers: auto, ring, nccl, tower_order"
        ):
            communication_implementation(name)


def test_an_unknown_name_is_refused():
    with pytest.raises(InputError, match="--all_reduce: got 'gossip', allowed: auto"):
        make_cross_device_ops("gossip", "stack", 2)
