"""The setup that the flags of the comparing commands describe."""

import pytest
from absl import flags

from parity import flags as parity_flags
from tests.own_flags import set_flags
from workloads import sources
from workloads.support.errors import InputError


@pytest.fixture(autouse=True)
def parsed():
    """Parses an empty command line, and forgets it afterwards."""
    flags.FLAGS.mark_as_parsed()
    yield
    flags.FLAGS.unparse_flags()


def setup(**values):
    """The setup for exact runs, with these flags."""
    with set_flags(flags.FLAGS, device="cpu", **values):
        return parity_flags.setup_from_flags(exact=True)


def test_both_sides_get_the_job_and_their_options():
    made = setup(workload="sigmoid_stack", replicas=3, global_batch=6, legacy_average="add_n", all_reduce="auto")
    assert made.job.workload.name == "sigmoid_stack" and (made.job.replicas, made.job.global_batch) == (3, 6)
    assert made.legacy.exact and made.modern.exact and made.modern.all_reduce == "auto"
    assert made.legacy.average == made.modern.average == "add_n"
    assert made.parameter_servers == made.layer_devices == 0 and made.workers == 1


def test_a_workload_can_be_given_instead_of_the_flag():
    with set_flags(flags.FLAGS, device="cpu"):
        assert parity_flags.setup_from_flags(False, "stacked_lstm").job.workload.name == "stacked_lstm"


@pytest.mark.parametrize("flag, argument, resident", [(True, None, True), (False, True, True), (True, False, False)])
def test_an_argument_overrides_the_flag_of_resident_batches(flag, argument, resident):
    with set_flags(flags.FLAGS, device="cpu", resident=flag):
        made = parity_flags.setup_from_flags(True, resident=argument)
    kind = sources.Resident if resident else sources.Synthetic
    assert made.make_source is kind and (made.legacy.input == "resident") is resident


def test_parameter_servers_have_one_replica_by_default():
    made = setup(strategy="parameter_server", parameter_servers=2)
    assert made.parameter_servers == 2 and made.job.replicas == 1


def test_parameter_servers_are_not_used_by_other_strategies():
    assert setup(parameter_servers=2).parameter_servers == 0


def test_several_workers_of_parameter_servers_have_no_order():
    with pytest.raises(InputError, match="--workers: got 2, with parameter servers only one worker has an order"):
        setup(strategy="parameter_server", workers=2)


def test_layers_get_devices_of_their_own():
    made = setup(workload="stacked_lstm", placement="layers", layer_devices=3, micro_batches=2)
    assert made.layer_devices == 3 and made.job.replicas == 2 and len(made.devices()) == 3


def test_more_replicas_than_devices_are_refused():
    with pytest.raises(InputError, match="more than the 8 logical CPU devices"):
        setup(replicas=9, global_batch=9)
