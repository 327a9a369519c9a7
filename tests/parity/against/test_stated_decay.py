"""Weight decay that the losses of recorded old programs show."""

import dataclasses

import pytest

from parity.against.stated_decay import stated_decay
from tests import old_programs
from workloads.lifted.workload import load_lift


def test_a_decay_that_all_towers_add_is_read_with_its_weights():
    lift = load_lift(old_programs.lifted("c_queue_ema"))
    found = stated_decay(lift)
    assert found.pop("weight_decay") == pytest.approx(0.04)
    assert found == {"decayed": ("local/weights",), "penalized": ("local/weights",)}
    assert stated_decay(lift, 0.5)["weight_decay"] == pytest.approx(0.02)


def test_a_loss_without_a_penalty_penalizes_nothing():
    assert stated_decay(load_lift(old_programs.lifted("b_adam_clip"))) == {"penalized": ()}


def test_a_penalty_of_one_tower_is_none_of_all():
    assert stated_decay(load_lift(old_programs.lifted("d_batch_norm"))) == {}


def test_an_old_graph_without_a_loss_tells_nothing():
    lift = load_lift(old_programs.lifted("b_adam_clip"))
    phases = [dataclasses.replace(phase, losses=[]) for phase in lift.plan.phases]
    assert stated_decay(dataclasses.replace(lift, plan=dataclasses.replace(lift.plan, phases=phases))) == {}
