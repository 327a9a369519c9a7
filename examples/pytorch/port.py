r"""A port of `towers.py` to PyTorch, recorded while it trains, and compared with the towers.

    python towers.py
    python -m legacy.record --workload=towers:DIGITS --data=digits.npz --noshuffle --replicas=4 --steps=8 \
        --out=legacy.npz
    python port.py
    python -m parity.diagnose --left=legacy.npz --right=port.npz --names=names.json

Needs PyTorch and scikit-learn. The last command matches PyTorch's names with the towers', writes `names.json`, and says
that the runs differ by rounding alone. Then make a mistake here, such as `nesterov=True`, and run the last two again.

Four replicas are four parts of a batch whose gradients are averaged, as DistributedDataParallel averages those of
processes. Where PyTorch runs in an environment of its own, copy `workloads/records/writer.py` beside the port.
"""

import numpy as np
import torch

from workloads.records.writer import Recorder

REPLICAS, BATCH, STEPS, RATE = 4, 64, 8, 0.05


def transposed(name, array):
    """Returns weights in the other framework's layout: TensorFlow's are [inputs, outputs], PyTorch's the reverse."""
    return np.ascontiguousarray(array.T) if name.endswith("weight") else array


def as_towers(tensors):
    """Returns copies of {name: tensor} in the towers' layout."""
    return {name: transposed(name, tensor.detach().numpy().copy()) for name, tensor in tensors}


def weights(model):
    return as_towers(model.named_parameters())


def gradients(model):
    return as_towers((name, weight.grad) for name, weight in model.named_parameters())


def momenta(model, optimizer):
    """Returns the optimizer's slots under the names that 1.x gives them; zero before the first step."""
    buffers = {name: optimizer.state[weight].get("momentum_buffer") for name, weight in model.named_parameters()}
    zeros = {name: torch.zeros_like(weight) for name, weight in model.named_parameters()}
    slots = as_towers((name, zeros[name] if buffer is None else buffer) for name, buffer in buffers.items())
    return {f"{name}/momentum": slot for name, slot in slots.items()}


def load_towers_weights(model, path):
    """Gives the model the towers' first weights, which their recording holds."""
    with np.load(path) as recording, torch.no_grad():
        for layer, name in ((model.hidden, "hidden"), (model.output, "output")):
            layer.weight.copy_(torch.from_numpy(recording[f"initial/weights/{name}/weights"].T.copy()))
            layer.bias.copy_(torch.from_numpy(recording[f"initial/weights/{name}/biases"]))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = torch.nn.Linear(64, 32)
        self.output = torch.nn.Linear(32, 10)

    def forward(self, pixels):
        return self.output(torch.relu(self.hidden(pixels)))


def train_step(model, optimizer, pixels, labels):
    """Takes one step; returns each replica's loss and gradients, and the mean of the gradients."""
    losses, per_replica = [], []
    for part, targets in zip(pixels.chunk(REPLICAS), labels.chunk(REPLICAS)):
        model.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(part), targets)
        loss.backward()
        losses.append(loss.item())
        per_replica.append(gradients(model))
    mean = {name: np.mean([each[name] for each in per_replica], 0) for name in per_replica[0]}
    for name, weight in model.named_parameters():
        weight.grad = torch.from_numpy(transposed(name, mean[name]))
    optimizer.step()
    return losses, per_replica, mean


def main():
    model = Net()
    load_towers_weights(model, "legacy.npz")
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=0.9)
    data = np.load("digits.npz")
    pixels = torch.from_numpy(data["pixels"].astype(np.float32)).split(BATCH)
    labels = torch.from_numpy(data["labels"]).split(BATCH)
    with Recorder("port.npz", REPLICAS, weights(model), momenta(model, optimizer), global_batch=BATCH) as recorder:
        for step in range(STEPS):
            losses, per_replica, mean = train_step(model, optimizer, pixels[step], labels[step])
            recorder.step(
                losses=losses,
                gradients=per_replica,
                combined=mean,
                rate=RATE,
                weights=weights(model),
                slots=momenta(model, optimizer),
            )


if __name__ == "__main__":
    main()
