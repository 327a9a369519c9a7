"""The roofline: the longer one of arithmetic and traffic, and at least a launch."""

import dataclasses

from parity.prediction.machines.machine import LARGE, OTHER_KINDS, SMALL, TF32, Efficiency, Processor
from parity.prediction.work import GRAIN, Work, seconds_of
from parity.profiling.op_kinds import PRODUCTS

#: Eight operations and two bytes a second, and a launch of an eighth of a second.
GPU = Processor("gpu", {"float32": 8.0, "float64": 4.0}, 2.0, 2.0**30, 0.125)


def test_arithmetic_or_traffic_whatever_takes_longer():
    assert seconds_of("MatMul", Work(64.0, 2.0), "float32", GPU) == (8.0,)
    assert seconds_of("MatMul", Work(64.0, 2.0), "float64", GPU) == (16.0,)
    assert seconds_of("AddV2", Work(8.0, 32.0), "float32", GPU) == (16.0,)


def test_no_kernel_is_shorter_than_its_launch():
    assert seconds_of("AddV2", Work(0.0, 0.0), "float32", GPU) == (0.125,)
    assert seconds_of("Reshape", Work(0.0, 64.0), "float32", GPU) == (0.0,)


def test_the_efficiency_of_the_type_comes_before_that_of_the_kind():
    efficiency = {PRODUCTS: Efficiency(0.5), "Conv2D": Efficiency(0.25), OTHER_KINDS: Efficiency(1.0, 0.5)}
    gpu = Processor("gpu", {"float32": 8.0}, 2.0, 2.0**30, 0.0, efficiency=efficiency)
    assert seconds_of("MatMul", Work(8.0), "float32", gpu) == (2.0,)
    assert seconds_of("Conv2D", Work(8.0), "float32", gpu) == (4.0,)
    assert seconds_of("AddV2", Work(0.0, 2.0), "float32", gpu) == (2.0,)


def test_small_kernels_reach_a_smaller_share_of_the_peak():
    efficiency = Efficiency(0.5, 1.0, large=1.0)
    assert efficiency.compute_at(SMALL / 4) == efficiency.compute_at(SMALL) == 0.5
    assert efficiency.compute_at(LARGE) == efficiency.compute_at(LARGE * 4) == 1.0
    assert abs(efficiency.compute_at((SMALL * LARGE) ** 0.5) - 0.75) < 1e-12


def test_products_of_float32_use_tensor_cores_where_there_are_some():
    gpu = Processor("gpu", {"float32": 8.0, TF32: 64.0}, 2.0**30, 2.0**30, 0.0)
    assert seconds_of("MatMul", Work(64.0), "float32", gpu) == (1.0,)
    assert seconds_of("AddV2", Work(64.0), "float32", gpu) == (8.0,)


def test_a_cpu_dispatches_before_it_computes_and_divides_long_kernels():
    cpu = Processor("cpu", {"float32": 8.0}, 2.0**30, 2.0**30, 0.125, hand_on=0.5, lanes=4)
    assert seconds_of("MatMul", Work(32.0), "float32", cpu) == (16.125, 8.125, 4 * 4 / 3 + 0.125, 4.125)
    shared = dataclasses.replace(cpu, efficiency={PRODUCTS: Efficiency(speedup=2.5)})  # each further lane: half as good
    assert seconds_of("MatMul", Work(32.0), "float32", shared) == (16.125, 16 / 1.5 + 0.125, 8.125, 6.525)
    hardly_shared = dataclasses.replace(cpu, efficiency={PRODUCTS: Efficiency(speedup=1.25)})
    assert seconds_of("MatMul", Work(32.0), "float32", hardly_shared) == (16 / 1.25 + 0.125,)
    prepared = dataclasses.replace(cpu, efficiency={PRODUCTS: Efficiency(setup=0.25)})
    assert seconds_of("MatMul", Work(32.0), "float32", prepared) == (16.375, 8.375, 4 * 4 / 3 + 0.375, 4.375)
    assert seconds_of("MatMul", Work(GRAIN), "float32", cpu) == (GRAIN / 2 + 0.125,)
    assert seconds_of("Reshape", Work(), "float32", cpu) == (0.5,)
