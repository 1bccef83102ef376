"""A variational autoencoder puts the handwritten digits on a plane, and draws new ones from its points.

The encoder gives each picture of 64 pixels a normal distribution over two numbers, the decoder draws a picture from a
point of it (Kingma and Welling, "Auto-Encoding Variational Bayes", 2013). Nobody tells it which digit a picture shows;
still, pictures it has never seen come to lie among those of their digit. Samples and gradients through them are those
of torch.distributions; a training step is one compiled function.
"""

import numpy as np
from measure import begin, check, check_reached, print_times, race
from scipy.stats import norm
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from training import axes_of, endless, losses_of, save, sheet, show_pictures

import minidynamo as torch
import minidynamo.nn.functional as F
from minidynamo import nn
from minidynamo.distributions import Normal, kl_divergence
from minidynamo.utils.data import DataLoader, TensorDataset

BATCH, PLANE = 64, 2


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 128), nn.GELU(), nn.Linear(128, 2 * PLANE)
        )
        self.decoder = nn.Sequential(
            nn.Linear(PLANE, 128), nn.GELU(), nn.Linear(128, 256), nn.GELU(), nn.Linear(256, 64)
        )

    def encode(self, pictures):
        """Where each picture may lie."""
        mean, log_spread = self.encoder(pictures).chunk(2, dim=1)
        return Normal(mean, log_spread.exp())

    def decode(self, points):
        """Logits of the pixels."""
        return self.decoder(points)

    def forward(self, pictures):
        """For each picture: cross entropy of its pixels after the way there and back, and nats spent on its place."""
        place = self.encode(pictures)
        pixels = F.binary_cross_entropy_with_logits(self.decode(place.rsample()), pictures, reduction="none")
        return pixels.sum(dim=1), kl_divergence(place, Normal(0.0, 1.0)).sum(dim=1)


class Learner:
    """An autoencoder with its optimiser and schedule; the weights follow from the seed."""

    def __init__(self, steps, device):
        torch.manual_seed(0)
        self.model, self.device = Autoencoder().to(device), device
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(self.optimizer, max_lr=4e-3, total_steps=steps + 1)

    def train_step(self, pictures):
        self.optimizer.zero_grad()
        pixels, place = self.model(pictures)
        loss = (pixels + place).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
        self.optimizer.step()
        return loss

    def learn(self, step, pictures, steps, what):
        """Losses of so many steps; `step` is train_step, compiled or not."""
        torch.manual_seed(1)
        loader = DataLoader(TensorDataset(pictures), batch_size=BATCH, shuffle=True, drop_last=True)
        return losses_of(step, endless(loader), steps, what, self.schedule, self.device)


def distances(pictures, known):
    """Of each picture to the nearest of the known ones."""
    squares = (pictures**2).sum(1)[:, None] + (known**2).sum(1) - 2 * pictures @ known.T
    return np.sqrt(squares.min(axis=1).clip(0))


def cross_entropy_of_means(learnt, unseen):
    """What the pixels cost if each is expected to be as dark as it is on average."""
    mean = learnt.mean(axis=0).clip(1e-3, 1 - 1e-3)
    return -(unseen * np.log(mean) + (1 - unseen) * np.log(1 - mean)).sum(axis=1).mean()


def drawn(model, points):
    """(n, 64) brightnesses of pictures decoded from the points (n, 2)."""
    device = next(model.parameters()).device
    made = model.decode(torch.from_numpy(points.astype(np.float32)).to(device))
    return torch.sigmoid(made).numpy(force=True)


def draw(model, unseen, truth, points, options):
    """Unseen pictures on the plane, what is drawn from all over the plane, pictures before and after."""
    figure = sheet(14, 4.6)
    left, middle, right = figure.add_gridspec(1, 3, width_ratios=(5, 5, 3))
    axes = axes_of(figure, left, "Where unseen pictures lie", "", "")
    axes.scatter(*points.T, c=truth, cmap="tab10", s=8)
    for digit in range(10):
        axes.text(*np.median(points[truth == digit], axis=0), str(digit), fontsize=16, weight="bold", ha="center")
    side = 13
    ticks = norm.ppf((np.arange(side) + 0.5) / side)  # between any two of them lie equally many pictures
    grid = np.stack(np.meshgrid(ticks, ticks[::-1]), axis=-1).reshape(-1, PLANE)
    tiles = np.pad(drawn(model, grid).reshape(side, side, 8, 8), ((0, 0), (0, 0), (1, 1), (0, 0)))
    tiles = tiles.swapaxes(1, 2).reshape(side * 10, side * 8)
    axes = axes_of(figure, middle, "What is drawn from there", "", "")
    axes.imshow(tiles, cmap="Greys", vmin=0, vmax=1)
    axes.set_axis_off()
    first = [int(np.flatnonzero(truth == digit)[0]) for digit in range(10)]
    pairs = np.stack([unseen[first], drawn(model, points[first])], axis=1).reshape(5, 4, 8, 8)
    show_pictures(figure, right, pairs, ["unseen", "drawn"] * 2 + [""] * 16)
    save(figure, "digits_vae.png", options)


def main():
    options = begin(__doc__)
    steps, compared = (2, 1) if options.tiny else (60, 8) if options.quick else (4000, 100)
    most_loss, least_read, most_distance = (35.0, 0.2, 3.0) if options.quick else (25.0, 0.8, 1.1)
    data = load_digits()
    arrays = train_test_split((data.data / 16).astype(np.float32), data.target, random_state=7, stratify=data.target)
    learnt, unseen, known, truth = (part[:64] for part in arrays) if options.tiny else arrays
    pictures = torch.from_numpy(learnt)

    learner, plain = Learner(steps, options.device), Learner(steps, options.device)
    compiled_step = torch.compile(learner.train_step)
    losses = learner.learn(compiled_step, pictures, steps, "compiled")
    expected = plain.learn(plain.train_step, pictures, compared, "plain")
    check("the losses", losses[:compared], expected, relative=0, absolute=0)
    print(f"Checked: {compared} losses are those of plain execution from the same weights, to the bit.")

    model = learner.model.requires_grad_(False)
    loss = sum(model(torch.from_numpy(unseen).to(options.device))).mean().item()
    means = cross_entropy_of_means(learnt, unseen)
    print(f"Loss on {len(unseen)} unseen pictures: {loss:.2f} nats; that of the mean picture: {means:.2f}.")
    check_reached("loss on unseen pictures", loss, most=most_loss, options=options)
    both = (torch.from_numpy(some).to(options.device) for some in (learnt, unseen))
    places, points = (model.encode(some).mean.numpy(force=True) for some in both)
    read = KNeighborsClassifier(5).fit(places, known).score(points, truth)
    print(f"The five nearest on the plane tell the digit of {read:.1%} of them; a guess is right in 10 %.")
    check_reached("digits told by their neighbours", read, least=least_read, options=options)
    fresh = drawn(model, np.random.default_rng(3).normal(size=(20 if options.tiny else 500, PLANE)))
    ratio = distances(fresh, learnt).mean() / distances(unseen, learnt).mean()
    print(f"New pictures are {ratio:.2f} times as far from the nearest one it has seen as unseen pictures are.")
    check_reached("distance of new pictures", ratio, most=most_distance, options=options)
    draw(model, unseen, truth, points, options)
    learner.model.requires_grad_(True)
    batch = pictures[:BATCH].to(options.device)
    contestants = [("compiled", lambda: compiled_step(batch)), ("plain (uncompiled)", lambda: plain.train_step(batch))]
    print(f"\nOne step, {BATCH} pictures:")
    print_times(race(contestants, 3 if options.quick else 30, options.device))


if __name__ == "__main__":
    main()
