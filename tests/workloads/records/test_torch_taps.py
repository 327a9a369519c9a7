"""Taps of a PyTorch module, whose hooks are called by a stand-in of the few methods that they use."""

import numpy as np

from workloads.records.torch_taps import TorchTaps


class Tensor:
    """A tensor with a gradient hook."""

    def __init__(self, value, requires_grad=True):
        self.value, self.requires_grad, self.hook = np.asarray(value), requires_grad, None

    def detach(self):
        return self

    cpu = detach

    def numpy(self):
        return self.value

    def register_hook(self, hook):
        self.hook = hook


class Module:
    """A module of one submodule, "stem"."""

    def __init__(self):
        self.hooks = []

    def get_submodule(self, name):
        assert name == "stem"
        return self

    def register_forward_hook(self, hook):
        self.hooks.append(hook)
        return self

    def remove(self):
        self.hooks.clear()


def test_values_and_gradients_are_copied():
    module = Module()
    taps = TorchTaps(module, {"stem": "stem/conv.output"})
    output = Tensor([1.0, 2.0])
    module.hooks[0](module, (), output)
    assert taps.values["stem/conv.output"].tolist() == [1, 2] and taps.gradients["stem/conv.output"].tolist() == [0, 0]
    output.hook(Tensor([3.0, 4.0]))
    output.value[0] = 9.0
    assert taps.values["stem/conv.output"].tolist() == [1, 2] and taps.gradients["stem/conv.output"].tolist() == [3, 4]
    taps.remove()
    assert module.hooks == []


def test_a_tensor_without_gradient_has_zeros():
    module = Module()
    taps = TorchTaps(module, {"stem": "x"})
    module.hooks[0](module, (), Tensor([1.0], requires_grad=False))
    assert taps.gradients["x"].tolist() == [0]
