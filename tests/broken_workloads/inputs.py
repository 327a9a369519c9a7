"""Broken specs of inputs, which are found before anything runs, and broken examples, which are found in a step."""

from __future__ import annotations

import numpy as np

from tests.broken_workloads.case import Case, fault
from workloads.support.errors import InputError, UserError
from workloads.workload import InputSpec, Workload

AT_BUILD: list[Case] = []
AT_RUN: list[Case] = []


@fault(AT_BUILD, "inputs", UserError, r"net.inputs\(\) raised NameError")
def inputs_that_raise(self):
    return {"x": undefined_name}  # noqa: F821  # here


@fault(AT_BUILD, "inputs", InputError, r"net.inputs\(\) at .*: got \['x'\], must be {input name: InputSpec}")
def inputs_in_a_list(self):
    return ["x"]


@fault(AT_BUILD, "inputs", InputError, r"'x': got \(4,\), must be an InputSpec")
def inputs_without_specs(self):
    return {"x": (4,)}


@fault(AT_BUILD, "inputs", InputError, "'labels': classes: got 0, must be at least 1")
def no_classes(self):
    return {"x": InputSpec((4,)), "labels": InputSpec((), "int")}


@fault(AT_BUILD, "inputs", InputError, "'x': kind: got 'string', allowed: float, int")
def unknown_kind(self):
    return {"x": InputSpec((4,), "string")}


@fault(AT_BUILD, "inputs", InputError, r"shape=\(None, 4\).*, shape must be a tuple of integers")
def open_shape(self):
    return {"x": InputSpec((None, 4))}


@fault(AT_BUILD, "inputs", InputError, r"shape=nan.*, shape must be a tuple of integers")
def shape_that_is_nan(self):
    return {"x": InputSpec(float("nan"))}


@fault(AT_RUN, "examples", UserError, "net.examples raised RuntimeError: disk unplugged; expected: 8 examples")
def examples_that_raise(self, rng, count):
    raise RuntimeError("disk\nunplugged")  # here


@fault(AT_RUN, "examples", UserError, "net.examples raised StopIteration")
def examples_that_end(self, rng, count):
    return next(iter(()))  # here


@fault(AT_RUN, "examples", InputError, "net.examples at .*: got tuple, must be a dict of arrays: labels, x")
def tuple_of_examples(self, rng, count):
    return np.zeros((count, 4)), np.zeros(count, int)


@fault(AT_RUN, "examples", InputError, "got x, must be exactly: labels, x")
def missing_input(self, rng, count):
    return {"x": np.zeros((count, 4))}


@fault(AT_RUN, "examples", InputError, "got id, labels, x, must be exactly: labels, x")
def additional_input(self, rng, count):
    return dict(Workload.examples(self, rng, count), id=np.arange(count))


@fault(AT_RUN, "examples", InputError, r"'x': got shape \(7, 4\), must be \(8, 4\)")
def too_few_examples(self, rng, count):
    return Workload.examples(self, rng, count - 1)


@fault(AT_RUN, "examples", InputError, r"'x': got shape \(8, 2, 2\), must be \(8, 4\)")
def examples_of_another_shape(self, rng, count):
    return dict(Workload.examples(self, rng, count), x=np.zeros((count, 2, 2)))


@fault(AT_RUN, "examples", InputError, r"'x': got <U3 \(8, 4\), must be an array of real numbers")
def texts(self, rng, count):
    return dict(Workload.examples(self, rng, count), x=np.full((count, 4), "0.5"))


@fault(AT_RUN, "examples", InputError, r"'x': got object \(8, 4\), must be an array of real numbers")
def objects(self, rng, count):
    return dict(Workload.examples(self, rng, count), x=np.full((count, 4), None))


@fault(AT_RUN, "examples", InputError, r"'x': got ValueError: .*, must be an array \(8, 4\)")
def ragged_lists(self, rng, count):
    return dict(Workload.examples(self, rng, count), x=[[0.5] * (i % 3) for i in range(count)])


@fault(AT_RUN, "examples", InputError, "'labels': got float64, must be whole numbers")
def labels_that_are_nan(self, rng, count):
    return dict(Workload.examples(self, rng, count), labels=np.full(count, np.nan))


@fault(AT_RUN, "examples", InputError, "'labels': got numbers from 1 to 3, must be from 0 to 2")
def labels_counted_from_one(self, rng, count):
    return dict(Workload.examples(self, rng, count), labels=1 + np.arange(count) % 3)
