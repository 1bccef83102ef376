"""Two networks learn to read digits from scratch: one of three full layers, one of convolutions with batch norm.

The pictures are split as in example 05. Those to learn from are turned, scaled and shifted a little, anew in each step,
so that no step sees the same picture twice. The rest is looked at once, when all is learnt: the first network has to
read 98 % of it, the second one 99 %. A step is one compiled function: the loss, its gradients, clipping, AdamW.
"""

import copy

import numpy as np
from measure import begin, check, check_reached, print_times, race
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from training import BLUE, ORANGE, axes_of, endless, losses_of, save, sheet, show_pictures

import minidynamo as torch
import minidynamo.nn.functional as F
from minidynamo import nn
from minidynamo.utils.data import DataLoader, TensorDataset

BATCH = 64


def full_layers():
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(64, 256),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(256, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    )


def convolutions():
    def convolution(inputs, outputs):
        return nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()

    return nn.Sequential(
        *convolution(1, 32),
        *convolution(32, 32),
        nn.MaxPool2d(2),
        *convolution(32, 64),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Linear(64 * 2 * 2, 10),
    )


def moved(pictures):
    """Each turned by up to 0.2 radians, scaled by up to a tenth and shifted by up to one pixel."""
    angle, size, right, down = (torch.rand(4, len(pictures), 1, device=pictures.device) * 2 - 1).unbind()
    cosine, sine = torch.cos(0.2 * angle) * (1 + 0.1 * size), torch.sin(0.2 * angle) * (1 + 0.1 * size)
    maps = torch.cat([cosine, -sine, 0.25 * right, sine, cosine, 0.25 * down], dim=1).view(-1, 2, 3)
    return F.grid_sample(pictures, F.affine_grid(maps, pictures.shape, align_corners=False), align_corners=False)


class Learner:
    """A network with its optimiser and schedule; all random numbers follow from the seed."""

    def __init__(self, make, steps, device, seed=0):
        torch.manual_seed(seed)
        self.model, self.device = make().to(device), device
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, weight_decay=0.01)
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(self.optimizer, max_lr=6e-3, total_steps=steps + 1)

    def train_step(self, pictures, digits):
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(moved(pictures)), digits, label_smoothing=0.1)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss

    def learn(self, step, learnt, known, steps, what):
        """Losses of so many steps; `step` is train_step, compiled or not."""
        torch.manual_seed(1)
        size = min(BATCH, len(learnt))
        loader = DataLoader(TensorDataset(learnt, known), batch_size=size, shuffle=True, drop_last=True)
        return losses_of(step, endless(loader), steps, what, self.schedule, self.device)


def chances_of(model, pictures):
    model.eval()
    with torch.no_grad():
        return torch.softmax(model(pictures), dim=1).numpy(force=True)


def draw(curves, unseen, truth, chances, options):
    """The losses, and the pictures that the second network is least sure of."""
    figure = sheet(10, 4)
    left, right = figure.add_gridspec(1, 2)
    axes = axes_of(figure, left, "Learning", "step", "cross entropy, with smoothed labels")
    for (name, losses), color in zip(curves.items(), (ORANGE, BLUE)):
        axes.plot(losses, color=color, alpha=0.25, linewidth=0.5)
        width = min(25, len(losses))
        axes.plot(np.convolve(losses, np.ones(width) / width, "valid"), color=color, label=name)
    axes.legend(frameon=False)
    columns, rows = 6, 3
    shown = np.argsort(chances.max(axis=1))[: columns * rows]
    titles = [
        f"{chances[k].argmax()} ({chances[k].max():.0%})"
        + ("" if chances[k].argmax() == truth[k] else f", is {truth[k]}")
        for k in shown
    ]
    show_pictures(figure, right, unseen[shown].reshape(rows, columns, 8, 8), titles)
    save(figure, "digits_training.png", options)


def train(name, make, steps, compared, learnt, known, device):
    """The trained network, its losses, and the seconds of a step, compiled and plain."""
    learner, plain = Learner(make, steps, device), Learner(make, steps, device)
    compiled_step = torch.compile(learner.train_step)
    losses = learner.learn(compiled_step, learnt, known, steps, name)
    expected = plain.learn(plain.train_step, learnt, known, compared, f"{name}, plain")
    check(f"the losses of {name}", losses[:compared], expected, relative=0, absolute=0)
    model = copy.deepcopy(learner.model)
    batch = learnt[:BATCH].to(device), known[:BATCH].to(device)
    contestants = [
        ("compiled", lambda: compiled_step(*batch)),
        ("plain (uncompiled)", lambda: plain.train_step(*batch)),
    ]
    return model, losses, race(contestants, min(compared, 30), device)


def main():
    options = begin(__doc__)
    data = load_digits()
    pictures = (data.images / 16).astype(np.float32)[:, None]
    learnt, unseen, known, truth = train_test_split(pictures, data.target, random_state=7, stratify=data.target)
    if options.tiny:
        unseen, truth, learnt, known = unseen[:18], truth[:18], learnt[:6], known[:6]
    learnt, unseen, known = torch.from_numpy(learnt), torch.from_numpy(unseen), torch.from_numpy(known)
    curves, times = {}, {}
    for name, make, steps, goal in (
        ("full layers", full_layers, 3000, 0.98),
        ("convolutions", convolutions, 750, 0.99),
    ):
        steps, compared, goal = (2, 1, 0) if options.tiny else (40, 5, 0.5) if options.quick else (steps, 40, goal)
        model, curves[name], times[name] = train(name, make, steps, compared, learnt, known, options.device)
        chances = chances_of(model, unseen.to(options.device))
        accuracy = (chances.argmax(axis=1) == truth).mean()
        weights = sum(p.numel() for p in model.parameters())
        print(f"{name}: {weights:,} weights; of {len(unseen)} pictures it has never seen it reads {accuracy:.1%}.")
        check_reached(f"held-out accuracy of {name}", accuracy, least=goal)
    print("Checked: the first losses are those of plain execution from the same weights, to the bit.")
    draw(curves, unseen.numpy(), truth, chances, options)
    for name, seconds in times.items():
        print(f"\nOne step of {name}, {min(BATCH, len(learnt))} pictures:")
        print_times(seconds)


if __name__ == "__main__":
    main()
