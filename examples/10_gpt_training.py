"""A small GPT learns from the text in data/genesis.txt, by gradients, to write its words character by character.

Example 06 sets the weights of such a network from counts; here they start at random. A training step is one compiled
function: the model, the loss, its gradients, clipping, AdamW. Plain execution takes the first of the same steps from
the same weights and has to come to the same losses. Nine of ten words that the trained model writes have to be words of
the text; the network only ever sees characters.
"""

import math
import pathlib
import re
import time

import numpy as np
from measure import begin, check, check_reached, print_times, race
from training import BLUE, ORANGE, axes_of, losses_of, save, sheet

import minidynamo as torch
import minidynamo.nn.functional as F
from minidynamo import nn

TEXT = pathlib.Path(__file__).resolve().parent / "data" / "genesis.txt"
LENGTH, WIDTH, HEADS, BLOCKS = 48, 96, 4, 2  # LENGTH: how many characters it sees at once
BATCH, UNSEEN, RATE, TEMPERATURE = 10, 4000, 4e-3, 0.7


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.inputs, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        count, length, _ = x.shape
        query, key, value = self.inputs(x).view(count, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4).unbind()
        found = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(found.transpose(1, 2).reshape(count, length, WIDTH))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.Sequential(nn.LayerNorm(WIDTH), Attention())
        self.neurons = nn.Sequential(
            nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x):
        x = x + self.attention(x)
        return x + self.neurons(x)


class Gpt(nn.Module):
    """(texts, length) codes to (texts, length, characters) logits of the character that follows each."""

    def __init__(self, characters):
        super().__init__()
        self.characters, self.places = nn.Embedding(characters, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(BLOCKS)))
        self.head = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, characters))
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.6 / math.sqrt(WIDTH))

    def forward(self, codes):
        places = self.places(torch.arange(codes.shape[1], device=codes.device))
        return self.head(self.blocks(self.characters(codes) + places))


class Learner:
    """A GPT and its optimiser; the weights follow from the seed."""

    def __init__(self, characters, steps, options):
        torch.manual_seed(0)
        self.model, self.device = Gpt(characters).to(options.device), options.device
        self.batch = 1 if options.tiny else BATCH
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=RATE, betas=(0.9, 0.95), weight_decay=0.05)
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(self.optimizer, RATE, total_steps=steps + 1, pct_start=0.1)

    def train_step(self, codes, following):
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(codes).flatten(0, 1), following.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss

    def learn(self, step, codes, steps, what):
        """Losses of so many steps, and seconds from the start to the end of each."""
        start, seconds = time.perf_counter(), []

        def timed_step(*batch):
            loss = step(*batch)
            seconds.append(time.perf_counter() - start)
            return loss

        pieces = batches(codes, self.batch, seed=1)
        return losses_of(timed_step, pieces, steps, what, self.schedule, self.device), seconds


def batches(codes, count, seed):
    """Pieces of the text from anywhere, and the same one character later."""
    generator = torch.Generator().manual_seed(seed)
    within = torch.arange(LENGTH + 1)
    while True:
        pieces = codes[torch.randint(len(codes) - LENGTH, (count, 1), generator=generator) + within]
        yield pieces[:, :-1].contiguous(), pieces[:, 1:].contiguous()


def loss_on(model, codes):
    """Mean surprise per character over pieces of LENGTH that are seen in turn."""
    pieces = codes[: len(codes) // LENGTH * LENGTH].view(-1, LENGTH)
    with torch.no_grad():
        logits = model(pieces[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), pieces[:, 1:].flatten()).item()


def write(model, start, count, length, device):
    """So many texts of so many characters, each going on after the code `start`."""
    torch.manual_seed(2)
    codes = torch.full((count, 1), start, device=device)
    with torch.no_grad():
        for _ in range(length):
            chances = torch.softmax(model(codes[:, -LENGTH:])[:, -1] / TEMPERATURE, dim=1)
            codes = torch.cat([codes, torch.multinomial(chances, 1)], dim=1)
    return codes.tolist()


def known_share(texts, words):
    """Share of the words in the texts that are among `words`, and their number; the last of a text may be cut off."""
    written = [word for text in texts for word in re.findall(r"\w+", text)[:-1]]
    return sum(word in words for word in written) / max(1, len(written)), len(written)


def draw(compiled, plain, options):
    """Both curves by steps, where they are one, and by time."""
    figure = sheet(10, 4)
    by_step, by_time = figure.add_gridspec(1, 2)
    names = ("compiled", "plain (uncompiled)")
    for place, title, across in ((by_step, "By steps", "step"), (by_time, "By time", "seconds")):
        axes = axes_of(figure, place, title, across, "nats per character")
        for (losses, seconds), name, color, width in zip((compiled, plain), names, (BLUE, ORANGE), (2.5, 0.8)):
            positions = np.arange(1, len(losses) + 1) if place is by_step else seconds
            axes.plot(positions, losses, color=color, linewidth=width, label=name)
        axes.set(xscale="log", ylim=(0, None))
        axes.legend(frameon=False)
    save(figure, "gpt_training.png", options)


def main():
    options = begin(__doc__)
    steps, compared, (count, length) = (60, 8, (4, 60)) if options.quick else (1500, 100, (16, 160))
    if options.tiny:
        steps, compared, (count, length) = 2, 1, (1, 12)
    most_loss, least_known = (3.0, 0.0) if options.quick else (1.5, 0.9)
    text = TEXT.read_text().replace("\n\n", "\x00").replace("\n", " ").replace("\x00", "\n")
    alphabet, words = sorted(set(text)), set(re.findall(r"\w+", text))
    codes = torch.tensor([alphabet.index(c) for c in text])
    learner, plain = (Learner(len(alphabet), steps, options) for _ in range(2))
    print(
        f"{sum(p.numel() for p in learner.model.parameters()):,} weights, {len(codes) - UNSEEN:,} characters of text."
    )

    def written():
        model, start = torch.compile(learner.model), alphabet.index("\n")
        return ["".join(alphabet[c] for c in one) for one in write(model, start, count, length, options.device)]

    before, _ = known_share(written(), words)
    compiled_step = torch.compile(learner.train_step)
    curve = learner.learn(compiled_step, codes[:-UNSEEN], steps, "compiled")
    plain_curve = plain.learn(plain.train_step, codes[:-UNSEEN], compared, "plain")
    check("the losses", curve[0][:compared], plain_curve[0], relative=0, absolute=0)
    print(f"Checked: {compared} losses are those of plain execution from the same weights, to the bit.")

    unseen = codes[-2 * LENGTH :] if options.tiny else codes[-UNSEEN:]
    loss = loss_on(learner.model, unseen.to(options.device))
    print(f"Surprise per character of unseen text: {loss:.2f} nats; a guess: {math.log(len(alphabet)):.2f}")
    texts = written()
    after, total = known_share(texts, words)
    print(f"Of {total} words that it writes {after:.1%} are words of the text; before it had learnt {before:.1%}.")
    check_reached("surprise per character", loss, most=most_loss, options=options)
    check_reached("share of known words", after, least=least_known, options=options)
    print(texts[0] + "\n")
    draw(curve, plain_curve, options)
    batch = [part.to(options.device) for part in next(batches(codes, learner.batch, seed=3))]
    contestants = [
        ("compiled", lambda: compiled_step(*batch)),
        ("plain (uncompiled)", lambda: plain.train_step(*batch)),
    ]
    print(f"\nOne step, {learner.batch} x {LENGTH} characters:")
    print_times(race(contestants, 3 if options.quick else 30, options.device))


if __name__ == "__main__":
    main()
