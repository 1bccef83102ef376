"""A small GPT writes in the manner of Genesis, character by character: embeddings, four blocks, a cache, sampling.

Nobody has trained it by gradients. Its weights are made here, from counts over the text in data/genesis.txt (King James
Version, in the public domain): in each block both attention heads look back by one fixed distance and bring the
character they find; the feed-forward layer has a neuron for every frequent context of that length, which fires when the
context is there and corrects the log probabilities of the next character. So the network is a 5-gram model, written in
the weights of a transformer, and its probabilities can be checked against the counts.
"""

import collections
import math
import pathlib

import numpy as np
from measure import begin, check, first_call, print_times, race

import minidynamo as torch
from minidynamo import nn

TEXT = pathlib.Path(__file__).resolve().parent / "data" / "genesis.txt"
BLOCKS, HEADS = 4, 2
POSITION, SLOT = 128, 64  # dims for the position, for the character found at each distance, and for log probabilities
WIDTH = POSITION + (BLOCKS + 1) * SLOT + SLOT
SMALL = 0.001  # log probabilities are kept small, so that layer norms hardly see them
GAIN = 12.0  # of a neuron's threshold
PRIOR = 4.0  # how many counts the shorter context is worth


class Attention(nn.Module):
    """Two heads over everything so far, whose keys and values are kept."""

    def __init__(self, length):
        super().__init__()
        self.query, self.key = nn.Linear(WIDTH, HEADS * POSITION), nn.Linear(WIDTH, HEADS * POSITION)
        self.value, self.out = nn.Linear(WIDTH, SLOT), nn.Linear(SLOT, WIDTH)
        self.register_buffer("keys", torch.zeros(HEADS, length, POSITION))
        self.register_buffer("values", torch.zeros(HEADS, length, SLOT // HEADS))

    def forward(self, x, position):
        self.keys[:, position] = self.key(x).view(HEADS, POSITION)
        self.values[:, position] = self.value(x).view(HEADS, SLOT // HEADS)
        query = self.query(x).view(HEADS, 1, POSITION)
        scores = query @ self.keys[:, : position + 1].transpose(1, 2) / math.sqrt(POSITION)
        found = torch.softmax(scores, dim=-1) @ self.values[:, : position + 1]
        return self.out(found.view(SLOT))


class Block(nn.Module):
    def __init__(self, length, neurons):
        super().__init__()
        self.before_attention, self.before_neurons = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention(length)
        self.neurons = nn.Sequential(nn.Linear(WIDTH, neurons), nn.GELU(), nn.Linear(neurons, WIDTH))

    def forward(self, x, position):
        x = x + self.attention(self.before_attention(x), position)
        return x + self.neurons(self.before_neurons(x))


class Gpt(nn.Module):
    """Log probabilities of the character that follows, up to a constant, given one more character and its position."""

    def __init__(self, characters, length, neurons):
        super().__init__()
        self.characters = nn.Embedding(characters, WIDTH)
        self.positions = nn.Embedding(length, WIDTH)
        self.blocks = nn.ModuleList(Block(length, neurons) for _ in range(BLOCKS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, characters)

    def forward(self, character, position):
        x = self.characters.weight[character] + self.positions.weight[position]
        for block in self.blocks:
            x = block(x, position)
        return self.head(self.norm(x))


class GptInNumpy:
    """The same model as one writes it without minidynamo."""

    def __init__(self, model, length):
        self.weights = {name: value.numpy(force=True) for name, value in model.state_dict().items()}
        self.keys = np.zeros((BLOCKS, HEADS, length, POSITION), np.float32)
        self.values = np.zeros((BLOCKS, HEADS, length, SLOT // HEADS), np.float32)

    def linear(self, name, x):
        return self.weights[name + ".weight"] @ x + self.weights[name + ".bias"]

    def norm(self, name, x):
        scaled = (x - x.mean()) / np.sqrt(x.var() + np.float32(1e-5))
        return scaled * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def attention(self, k, x, position):
        name = f"blocks.{k}.attention."
        self.keys[k, :, position] = self.linear(name + "key", x).reshape(HEADS, -1)
        self.values[k, :, position] = self.linear(name + "value", x).reshape(HEADS, -1)
        query = self.linear(name + "query", x).reshape(HEADS, 1, -1)
        scores = query @ self.keys[k, :, : position + 1].transpose(0, 2, 1) / np.float32(math.sqrt(POSITION))
        chances = np.exp(scores - scores.max(axis=-1, keepdims=True))
        found = chances / chances.sum(axis=-1, keepdims=True) @ self.values[k, :, : position + 1]
        return self.linear(name + "out", found.reshape(-1))

    def __call__(self, character, position):
        x = self.weights["characters.weight"][character] + self.weights["positions.weight"][position]
        for k in range(BLOCKS):
            x = x + self.attention(k, self.norm(f"blocks.{k}.before_attention", x), position)
            y = self.linear(f"blocks.{k}.neurons.0", self.norm(f"blocks.{k}.before_neurons", x))
            y = y / 2 * (1 + np.tanh(np.float32(math.sqrt(2 / math.pi)) * (y + np.float32(0.044715) * y**3)))
            x = x + self.linear(f"blocks.{k}.neurons.2", y)
        return torch.from_numpy(self.linear("head", self.norm("norm", x)))


# --- counts -----------------------------------------------------------------------------------------------------------


class Counts:
    """How often which character follows the frequent contexts of up to BLOCKS + 1 characters."""

    def __init__(self, codes, characters, neurons):
        self.unconditional = (np.bincount(codes, minlength=characters) + 0.5) / (len(codes) + 0.5 * characters)
        self.following = {}  # context, latest character first: probabilities of the next
        self.of_block = [[] for _ in range(BLOCKS)]
        for length in range(1, BLOCKS + 2):
            counts = collections.defaultdict(lambda: np.zeros(characters))
            for k in range(length - 1, len(codes) - 1):
                counts[tuple(codes[k - d] for d in range(length))][codes[k + 1]] += 1
            block = self.of_block[max(0, length - 2)]
            frequent = sorted(counts, key=lambda c: -counts[c].sum())[: neurons - len(block)]
            for context in frequent:
                prior = self.probabilities(context[:-1])
                seen = counts[context]
                self.following[context] = (seen + PRIOR * prior) / (seen.sum() + PRIOR)
                correction = np.log(self.following[context]) - np.log(prior)
                block.append((context, correction - correction.mean()))  # a constant changes nothing

    def probabilities(self, context):
        """After this context, or the longest part of it that is frequent."""
        while context and context not in self.following:
            context = context[:-1]
        return self.following[context] if context else self.unconditional


# --- weights ----------------------------------------------------------------------------------------------------------


def rows_of(slot):
    """The dims of the character found at a distance (0: the character itself); the last are the log probabilities."""
    return slice(POSITION + slot * SLOT, POSITION + (slot + 1) * SLOT)


def put(parameter, values):
    with torch.no_grad():
        parameter.copy_(torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32)))


def set_linear(layer, weight, bias=None):
    put(layer.weight, weight)
    put(layer.bias, np.zeros(len(weight)) if bias is None else bias)


def scale_of_norm(block):
    """Mean and deviation of what a layer norm sees: a position of length sqrt(POSITION / 2) and `block` ones."""
    mean = block / WIDTH
    return mean, math.sqrt((POSITION / 2 + block) / WIDTH - mean**2 + 1e-5)


def look_back(attention, distance, frequencies):
    """Queries are the position turned back by the distance, keys the position: they agree best where that lies."""
    angle = frequencies * distance
    turn = np.zeros((POSITION, WIDTH))
    even = np.arange(0, POSITION, 2)
    turn[even, even] = turn[even + 1, even + 1] = np.cos(angle)
    turn[even, even + 1], turn[even + 1, even] = np.sin(angle), -np.sin(angle)
    mean, deviation = scale_of_norm(distance)
    sharp = 6 * math.sqrt(POSITION) * deviation**2
    set_linear(attention.query, np.concatenate([sharp * turn] * HEADS))
    set_linear(attention.key, np.concatenate([np.eye(POSITION, WIDTH)] * HEADS))
    value, out = np.zeros((SLOT, WIDTH)), np.zeros((WIDTH, SLOT))
    value[:, rows_of(0)] = np.eye(SLOT) * deviation
    out[rows_of(distance)] = np.eye(SLOT)
    set_linear(attention.value, value, np.full(SLOT, mean))
    set_linear(attention.out, out)


def recognise(layers, contexts, block):
    """One neuron for each context: the sum of what it wants to see passes the threshold only if all of it is there."""
    mean, deviation = scale_of_norm(block + 2)
    up, threshold = np.zeros((layers[0].out_features, WIDTH)), np.full(layers[0].out_features, -1.0)
    down = np.zeros((WIDTH, layers[0].out_features))
    for n, (context, correction) in enumerate(contexts):
        for distance, code in enumerate(context):
            up[n, POSITION + distance * SLOT + code] = GAIN * deviation
        threshold[n] = GAIN * (len(context) * mean - len(context) + 0.5)
        down[rows_of(BLOCKS + 1), n][: len(correction)] = SMALL * correction / (GAIN / 2)
    set_linear(layers[0], up, threshold)
    set_linear(layers[2], down)


def build(counts, characters, length, neurons):
    """The model with all weights set."""
    model = Gpt(characters, length, neurons).eval()
    frequencies = np.repeat(np.random.default_rng(5).uniform(0, math.pi, POSITION // 4), 2)
    angles = np.arange(length)[:, None] * frequencies + np.tile([0, math.pi], POSITION // 4)  # they add up to nothing
    places = np.zeros((length, WIDTH))
    places[:, 0:POSITION:2], places[:, 1:POSITION:2] = np.cos(angles), np.sin(angles)
    put(model.positions.weight, places)
    put(model.characters.weight, np.eye(characters, WIDTH, POSITION))
    for k, block in enumerate(model.blocks):
        look_back(block.attention, k + 1, frequencies)
        recognise(block.neurons, counts.of_block[k], k)
    head = np.zeros((characters, WIDTH))
    head[:, rows_of(BLOCKS + 1)] = np.eye(characters, SLOT) * scale_of_norm(BLOCKS + 1)[1] / SMALL
    set_linear(model.head, head, np.log(counts.unconditional))
    return model


# --- writing ----------------------------------------------------------------------------------------------------------


def write(step, codes, length, seed):
    """Goes on after `codes` until `length`, each character drawn by the probabilities the model gives."""
    codes = list(codes)
    torch.manual_seed(seed)
    logits = None
    for position in range(length - 1):
        logits = step(codes[position], position)
        if position + 1 == len(codes):
            upto = torch.softmax(logits / 0.9, dim=0).cumsum(dim=0)
            codes.append(int((upto < torch.rand(1, device=upto.device)).sum().clamp(max=len(logits) - 1).item()))
    return codes


def log_probabilities(logits):
    return logits - np.log(np.exp(logits - logits.max()).sum()) - logits.max()


def main():
    options = begin(__doc__)
    text = TEXT.read_text().replace("\n\n", "\x00").replace("\n", " ").replace("\x00", "\n")
    alphabet = sorted(set(text))
    codes = [alphabet.index(c) for c in text]
    neurons, length = (16, 8) if options.tiny else (256, 80) if options.quick else (1024, 500)
    held_out = codes[-1000:]
    counts = Counts(codes[:8000] if options.quick else codes[:-1000], len(alphabet), neurons)
    model = build(counts, len(alphabet), length, neurons).to(options.device)
    size = sum(p.numel() for p in model.parameters())
    print(f"{size:,} weights, made from {len(counts.following):,} contexts of {len(alphabet)} characters.")

    compiled = torch.compile(model, fullgraph=True)
    numpys = GptInNumpy(model, length)
    with torch.no_grad():
        _, seconds = first_call(lambda: [compiled(codes[k], k) for k in range(4)], options.device)
        print(f"Compiling, also for lengths that change, took {seconds * 1e3:.0f} ms.")
        losses = []
        for k in range(min(length, 250) - 1):
            ours = log_probabilities(compiled(held_out[k], k).numpy(force=True).astype(np.float64))
            losses.append(-ours[held_out[k + 1]])
            by_numpy = log_probabilities(numpys(held_out[k], k).numpy())
            if k > BLOCKS and (options.tiny or k % 29 == 0):
                check("against NumPy", ours, by_numpy, relative=0, absolute=0.01)
                check("against plain execution", compiled(held_out[k], k), model(held_out[k], k), 0, 0)
                expected = np.log(counts.probabilities(tuple(held_out[k - d] for d in range(BLOCKS + 1))))
                check("against the counts", ours, expected, relative=0, absolute=0.05)
        print("Checked: equal to plain execution to the bit, to NumPy; and the probabilities are those of the counts.")
        print(
            f"Surprise per character of unseen text: {np.mean(losses):.2f} nats; a guess: {math.log(len(alphabet)):.2f}"
        )

        start = [alphabet.index(c) for c in ("And" if options.tiny else "And God said")]
        print("\n" + "".join(alphabet[c] for c in write(compiled, start, length, seed=3)) + "\n")
        if options.tiny:
            return
        many = 20 if options.quick else 40
        contestants = [
            ("compiled", lambda: write(compiled, start, many, seed=1)),
            ("plain (uncompiled)", lambda: write(model, start, many, seed=1)),
            ("NumPy", lambda: write(numpys, start, many, seed=1)),
        ]
        times = race(contestants, 2 if options.quick else 4, options.device)
        print_times({name: t / many for name, t in times.items()}, name="ms per character")


if __name__ == "__main__":
    main()
