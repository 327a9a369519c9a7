"""Setups: devices, references in the other precision, and a port of one's own."""

import dataclasses

import pytest

from parity.causes.basics import injection
from parity.comparison.setup import Setup, exact_setup
from tests import old_programs
from tests.cases import Dyadic, setup
from workloads.sources import Synthetic
from workloads.support.errors import InputError


def test_a_device_for_each_replica_or_for_each_part_of_the_layers():
    made = setup(Dyadic(), 2)
    assert isinstance(made, Setup)
    assert made.devices() == ["CPU:0", "CPU:1"]
    assert len(dataclasses.replace(made, layer_devices=3).devices()) == 3
    with pytest.raises(InputError, match="replicas"):
        setup(Dyadic(), 16, 16).devices()


def test_the_legacy_program_in_another_precision_takes_the_same_batches():
    made = setup(Dyadic(), 2)
    with made.legacy_program() as narrow, made.legacy_program("float64") as wide:
        first, second = narrow.step(), wide.step()
    assert [float(loss) for loss in first.losses] == [float(loss) for loss in second.losses] == [3.0, 11.0]
    assert second.combined["a"].dtype == "float64"


def test_references_are_closed_at_the_end():
    with setup(Dyadic(), 2).closing_references() as references:
        references.load(references._again.state())
        records = references.step()  # open ones can be used
    assert records.truth.combined["a"].dtype == records.port.combined["a"].dtype == "float64"
    for program in (references._again, references._truth):
        with pytest.raises(RuntimeError, match="closed Session"):
            program.state()


def test_a_float64_run_has_its_truth_in_float32_and_no_second_port():
    with setup(Dyadic(), 1, dtype="float64").closing_references() as references:
        references.load(references._again.state())
        records = references.step()
    assert records.truth.combined["a"].dtype == "float32" and records.port is None


def test_a_lifted_workload_is_rewritten_for_its_references():
    with old_programs.setup("a_split_sgd").closing_references() as references:
        references.load(references._again.state())
        records = references.step()
    assert {g.dtype.name for record in records[1:] for g in record.combined.values()} == {"float64"}
    assert references.single_only == "" and {g.dtype.name for g in records.again.combined.values()} == {"float32"}


def test_a_lifted_workload_is_never_rewritten_to_float32():
    made = old_programs.setup("a_split_sgd")
    wide = dataclasses.replace(made, job=dataclasses.replace(made.job, dtype="float64"))
    with wide.closing_references() as references:
        assert references._truth is None and "float64 only" in references.single_only


def test_a_port_of_ones_own_is_made_in_both_precisions():
    made = dataclasses.replace(setup(Dyadic(), 2), port=injection.in_options(steps_per_call=2))
    with made.modern_program() as narrow, made.modern_program("float64") as wide:
        assert type(narrow).__name__ == type(wide).__name__ == "FaultyProgram"
        assert wide.state().weights["a"].dtype == "float64"


def test_an_exact_setup_has_synthetic_batches_and_the_all_reduce_that_is_asked_for():
    job = setup(Dyadic()).job
    made = exact_setup(job, all_reduce="auto")
    assert made.legacy.exact and made.modern.exact and made.modern.all_reduce == "auto"
    assert made.make_source is Synthetic and made.device == "cpu"
    assert exact_setup(job, "auto").device == "auto" and exact_setup(job).modern.all_reduce == "tower_order"
