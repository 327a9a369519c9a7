"""Lifts and sources of a few random programs; `python -m tests.legacy.random_programs --ports` tries more."""

import pytest
from tensorflow.compat import v1

from tests.legacy.random_programs import ports
from tests.legacy.random_programs.traits import Traits, random_traits


@pytest.fixture(autouse=True)
def _old_control_flow():
    v1.disable_control_flow_v2()


@pytest.mark.parametrize("seed", range(4))
def test_a_lift_and_its_sources_have_the_bits_of_the_old_graph(seed):
    assert ports.wrong_ports(random_traits(seed)) == []


@pytest.mark.parametrize("combine", ["one loss", "losses / towers", "python sum", "add_n"])
def test_a_third_is_rounded_as_the_old_graph_rounds_it(combine):
    assert ports.wrong_ports(Traits(towers=3, combine=combine)) == []


@pytest.mark.parametrize("combine", ["python sum", "add_n"])
def test_a_third_is_rounded_so_in_updates_of_several_rates_too(combine):
    assert ports.wrong_ports(Traits(towers=3, combine=combine, rates="twice for biases")) == []


def test_one_loss_may_have_a_penalty_of_each_tower_on_weights_with_several_uses():
    assert ports.wrong_ports(Traits(model="recurrent", penalty="matrices", combine="one loss")) == []


def test_gradients_of_a_mean_loss_begin_with_its_third_where_the_update_is_by_hand():
    assert ports.wrong_ports(Traits(towers=3, combine="one loss", optimizer="moments by hand")) == []


def test_a_source_of_another_program_is_found_to_be_wrong(monkeypatch):
    """Negative control: each style's source has another learning rate than the old graph."""
    written = ports.source_of

    def changed(*arguments):
        source = written(*arguments)
        assert "0.05" in source.text
        return source._replace(text=source.text.replace("0.05", "0.07"))

    monkeypatch.setattr(ports, "source_of", changed)
    found = ports.wrong_ports(Traits())
    assert [line.partition(":")[0] for line in found] == ["workload", "standalone"]
