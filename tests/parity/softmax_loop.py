"""A training loop of one's own in numpy, of a linear softmax, recorded by the writer that people copy."""

import dataclasses
import textwrap

import numpy as np

from workloads.records.writer import Recorder

STEPS, BATCH, REPLICAS, CLASSES = 6, 16, 2, 4
DECAY, RATES = 0.02, {"Adam": 0.01, "Momentum": 0.1, "GradientDescent": 0.1}

WORKLOAD = """
    import dataclasses

    import tensorflow as tf

    from workloads import initializers, layers, optimizers, schedules
    from workloads.workload import Clip, InputSpec, Workload


    @dataclasses.dataclass(frozen=True)
    class Softmax(Workload):
        name: str = "softmax"
        global_batch: int = 16
        weight_decay: float = 0.02

        def inputs(self):
            return {{"x": InputSpec((6,)), "y": InputSpec((), "int", 4)}}

        def loss(self, scope, batch):
            start = initializers.Constant(0.125)
            return layers.cross_entropy(layers.dense(scope, batch["x"], 4, start, decay=self.weight_decay), batch["y"])


    PORT = Softmax(optimizer=optimizers.{0}(), learning_rate=schedules.Fixed({1}))
    CLIPPED = dataclasses.replace(PORT, name="clipped", clip=Clip(0.25, "combined"))
"""


@dataclasses.dataclass(frozen=True)
class Habits:
    """How a loop computes and records; none of these is a fault.

    Attributes:
      dtype: of weights and gradients.
      labels: their type in the batches.
      decay: place of the weight decay: "loss", "gradient" (before the optimizer), or "weights" (beside the update).
      rate: of that decay.
      clip: norm to which the optimizer clips what it gets, beside the clip of 0.25 of the job; 0 for no clip.
      slots, gradients: whether they are recorded.
      one_loss: whether one mean of the losses is recorded, and not each replica's.
      shares: whether each replica divides its loss by their number, and the gradients are added.
    """

    dtype: str = "float32"
    labels: str = "int32"
    decay: str = "loss"
    rate: float = DECAY
    clip: float = 0.0
    slots: bool = True
    gradients: bool = True
    one_loss: bool = False
    shares: bool = False


def write_job(folder, optimizer="Momentum", name="PORT"):
    """Writes the workloads and their data; returns the flags that name one of them and the data."""
    rng = np.random.RandomState(0)
    examples = {"x": rng.randn(STEPS * BATCH, 6).astype(np.float32), "y": rng.randint(0, CLASSES, STEPS * BATCH)}
    np.savez(folder / "data.npz", x=examples["x"], y=examples["y"].astype(np.int32))
    (folder / "softmax.py").write_text(textwrap.dedent(WORKLOAD).format(optimizer, RATES[optimizer]))
    flags = [f"--workload={folder / 'softmax.py'}:{name}", f"--data={folder / 'data.npz'}", "--noshuffle"]
    return [*flags, f"--replicas={REPLICAS}", f"--steps={STEPS}"]


def record_loop(folder, optimizer="Momentum", habits=Habits()):
    """Trains the same model by numpy alone; returns the path of the recording."""
    data = np.load(folder / "data.npz")
    weights = {"weights": np.full((6, CLASSES), 0.125, habits.dtype), "biases": np.zeros(CLASSES, habits.dtype)}
    state = _Slots(optimizer, weights)
    shown = state.arrays if habits.slots else dict
    path = str(folder / "port.npz")
    with Recorder(path, REPLICAS, weights=weights, slots=shown(), global_batch=BATCH) as recorder:
        for step in range(STEPS):
            batches = [
                {name: data[name][step * BATCH + r :][: BATCH // REPLICAS] for name in data.files}
                for r in range(0, BATCH, BATCH // REPLICAS)
            ]
            passes = [_loss_and_gradients(weights, batch, habits) for batch in batches]
            passes = [(loss, g) if not habits.shares else _divided(loss, g) for loss, g in passes]
            count = 1 if habits.shares else REPLICAS
            combined = {name: sum(g[name] for _, g in passes) / count for name in weights}
            weights = state.update(weights, _clipped(combined, habits.clip), step, habits)
            losses = np.array([loss for loss, _ in passes], habits.dtype)
            recorder.step(
                losses=np.mean(losses) if habits.one_loss else losses,
                weights=weights,
                slots=shown(),
                rate=RATES[optimizer],
                batches=[{"x": batch["x"], "y": batch["y"].astype(habits.labels)} for batch in batches],
                **({"gradients": [g for _, g in passes], "combined": combined} if habits.gradients else {}),
            )
    return path


def _loss_and_gradients(weights, batch, habits):
    x, w = batch["x"].astype(habits.dtype), weights["weights"]
    logits = x @ w + weights["biases"]
    powers = np.exp(logits - logits.max(1, keepdims=True))
    shares = powers / powers.sum(1, keepdims=True)
    own = np.arange(len(x)), batch["y"]
    loss, error = -np.mean(np.log(shares[own])), shares.copy()
    error[own] -= 1
    error /= len(x)
    gradient = x.T @ error
    if habits.decay == "loss":
        loss, gradient = loss + habits.rate * 0.5 * np.sum(w**2), gradient + habits.rate * w
    return loss, {"weights": gradient.astype(w.dtype), "biases": error.sum(0).astype(w.dtype)}


def _divided(loss, gradients):
    return loss / REPLICAS, {name: gradient / REPLICAS for name, gradient in gradients.items()}


def _clipped(gradients, limit):
    length = np.sqrt(sum(np.sum(value**2) for value in gradients.values()))
    factor = min(1.0, limit / length) if limit else 1.0
    return {name: (value * factor).astype(value.dtype) for name, value in gradients.items()}


class _Slots:
    """The optimizer's slots and its update, with constants and powers in Python's float64."""

    def __init__(self, optimizer, weights):
        self._optimizer = optimizer
        kinds = {"Adam": ("m", "v"), "Momentum": ("momentum",), "GradientDescent": ()}[optimizer]
        self._slots = {f"{name}/{kind}": np.zeros_like(w) for name, w in weights.items() for kind in kinds}

    def arrays(self):
        return dict(self._slots)

    def update(self, weights, combined, step, habits):
        """Returns the weights after a step."""
        return {name: self._updated(name, w, combined[name], step, habits) for name, w in weights.items()}

    def _updated(self, name, weight, gradient, step, habits):
        rate, decayed = RATES[self._optimizer], habits.rate if name == "weights" else 0.0
        kept = weight * (1 - rate * decayed) if habits.decay == "weights" else weight
        if habits.decay == "gradient":
            gradient = gradient + decayed * weight
        return (kept - self._change(name, gradient, rate, step)).astype(weight.dtype)

    def _change(self, name, gradient, rate, step):
        slots = self._slots
        if self._optimizer == "GradientDescent":
            return rate * gradient
        if self._optimizer == "Momentum":
            slots[f"{name}/momentum"] = (0.9 * slots[f"{name}/momentum"] + gradient).astype(gradient.dtype)
            return rate * slots[f"{name}/momentum"]
        slots[f"{name}/m"] = (0.9 * slots[f"{name}/m"] + (1 - 0.9) * gradient).astype(gradient.dtype)
        slots[f"{name}/v"] = (0.999 * slots[f"{name}/v"] + (1 - 0.999) * gradient**2).astype(gradient.dtype)
        corrected = rate * (1 - 0.999 ** (step + 1)) ** 0.5 / (1 - 0.9 ** (step + 1))
        return corrected * slots[f"{name}/m"] / (np.sqrt(slots[f"{name}/v"]) + 1e-8)
