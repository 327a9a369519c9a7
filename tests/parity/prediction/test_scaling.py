"""Scaling towards many machines, in powers of two, and the published measurements beside it."""

import dataclasses

import pytest

from parity.prediction.machines.built_in import MACHINES
from parity.prediction.machines.machine import Link
from parity.prediction.published import PUBLISHED
from parity.prediction.scaling import (
    ALGORITHMS,
    HIERARCHICAL,
    RING,
    TREE,
    Cluster,
    OneReplica,
    all_reduce_seconds,
    cluster_of,
    published_band,
    strong_scaling,
    weak_scaling,
)
from parity.reports.scaling_page import published_lines
from workloads.support.errors import InputError

CLUSTER = Cluster(4, Link("inside", 64.0, 0.0), Link("between", 8.0, 0.25))
ONE = OneReplica("made up", 4, 64.0, lambda batch: 8.0 * batch)


def test_by_hand():
    assert all_reduce_seconds(64.0, 4, CLUSTER, RING) == 2 * 3 / 4
    assert all_reduce_seconds(64.0, 16, CLUSTER, RING) == 30 * 0.25 + 30 / 16 * 8
    assert all_reduce_seconds(64.0, 16, CLUSTER, TREE) == 2 * 2 * 1 + 2 * 2 * (0.25 + 8)
    assert all_reduce_seconds(64.0, 16, CLUSTER, HIERARCHICAL) == 2 * 3 / 4 + min(6 * 0.25, 4 * 0.25) + 2 * 3 / 4 * 8


def test_a_ring_runs_at_the_pace_of_its_slowest_link():
    fast_network = CLUSTER._replace(between=Link("between", 2.0**20, 0.25))
    assert all_reduce_seconds(64.0, 16, fast_network, RING) == 30 * 0.25 + 30 / 16 * 1


def test_weak_scaling_loses_what_the_all_reduce_takes():
    points = [point for point in weak_scaling(ONE, CLUSTER, (4, 8)) if point.algorithm == RING]
    assert [point.replicas for point in points] == [4, 8]
    assert points[0].examples_per_second == 16 / (32 + 1.5)
    assert points[0].efficiency == pytest.approx(32 / 33.5)
    assert points[1].efficiency < points[0].efficiency


def test_strong_scaling_ends_where_a_replica_has_no_example():
    points = list(strong_scaling(ONE, CLUSTER, (4, 8, 16, 32)))
    assert {point.replicas for point in points} == {4, 8, 16}
    assert len(points) == 3 * len(ALGORITHMS)
    assert points[-1].examples_per_second == 16 / (8 + points[-1].all_reduce)


def test_a_machine_without_a_network_makes_no_cluster():
    assert cluster_of(MACHINES["p100"]).inner == 8
    with pytest.raises(InputError, match="--devices: got 'p100', must have a network"):
        cluster_of(dataclasses.replace(MACHINES["p100"], network=None))


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: f"{row.model} {row.source.split()[0]}")
def test_published_efficiencies_are_shares_and_the_band_is_ordered(row):
    assert 0.5 < row.efficiency <= 1.0
    band = published_band(row)
    assert 0.3 < band.low <= band.high <= 1.0


def test_the_page_counts_what_lies_outside_the_band_too():
    text = "\n".join(published_lines())
    assert "| no |" in text and "| yes |" in text
    inside = text.count("| yes |")
    assert f"{inside} of {len(PUBLISHED)} measurements lie inside the band" in text
