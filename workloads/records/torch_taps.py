"""Outputs of a PyTorch module's layers and the gradients to them: one file that needs numpy alone, to be copied.

    taps = TorchTaps(model, {"stem.conv": "stem/conv.output"})
    for batch in batches:
        loss = train_step(batch)  # forward and backward
        recorder.step(losses=[loss], weights=weights(), taps=[taps.values], tap_gradients=[taps.gradients])

With several replicas hand over one pair for each: `taps=[one.values, other.values]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class TorchTaps:
    """Taps of a module, by forward hooks and tensor hooks.

    Args:
      module: the `torch.nn.Module`.
      names: {submodule's name, as in `named_modules()`: legacy's name of the tap}, in the order of the forward pass.

    Attributes:
      values: {legacy's name: array} of the last forward pass.
      gradients: {legacy's name: array} of the last backward pass; zero where none came.
    """

    def __init__(self, module: Any, names: Mapping[str, str]) -> None:
        self.values: Dict[str, np.ndarray] = {}
        self.gradients: Dict[str, np.ndarray] = {}
        self._hooks = [
            module.get_submodule(submodule).register_forward_hook(self._hook(name)) for submodule, name in names.items()
        ]

    def remove(self) -> None:
        """Removes the hooks."""
        for hook in self._hooks:
            hook.remove()

    def _hook(self, name: str) -> Callable[[Any, Any, Any], None]:
        def keep(module: Any, inputs: Any, output: Any) -> None:
            self.values[name] = _array(output)
            self.gradients[name] = np.zeros_like(self.values[name])
            if output.requires_grad:
                output.register_hook(lambda gradient: self.gradients.update({name: _array(gradient)}))

        return keep


def _array(tensor: Any) -> np.ndarray:
    """Returns a copy of a tensor on the host."""
    return np.array(tensor.detach().cpu().numpy())
