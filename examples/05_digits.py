"""Handwritten digits read by a small network: scikit-learn trains it, minidynamo runs it.

The 1,797 pictures of 8 x 8 pixels come with scikit-learn, whose MLPClassifier learns from three quarters of them. Its
weights move into a model of minidynamo.nn, which is compiled: products, biases, ReLU and softmax of a batch in one
graph. Both have to agree on every picture of the rest.
"""

import warnings

import numpy as np
from measure import begin, check, first_call, print_times, race
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

import minidynamo as torch
from minidynamo import nn


def train(pictures, digits, quick):
    """A network of two hidden layers, trained for a few seconds."""
    network = MLPClassifier((128, 64), max_iter=15 if quick else 60, batch_size=100, random_state=1, tol=0)
    network.n_iter_no_change = network.max_iter  # not until it is perfect on what it has seen
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that it could go on learning
        return network.fit(pictures, digits)


def as_model(network):
    """The same network as a module: scikit-learn keeps its weights as (inputs, outputs)."""
    layers = []
    for weights, bias in zip(network.coefs_, network.intercepts_):
        layer = nn.Linear(*weights.shape)
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(np.ascontiguousarray(weights.T, dtype=np.float32)))
            layer.bias.copy_(torch.from_numpy(bias.astype(np.float32)))
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1], nn.Softmax(dim=1)).eval()


def drawn(picture):
    """A picture in characters, dark to light."""
    return ["".join(" .:-=+*#%@"[min(9, int(v * 10))] * 2 for v in row) for row in picture.reshape(8, 8)]


def main():
    options = begin(__doc__)
    data = load_digits()
    pictures = (data.data / 16).astype(np.float32)
    learnt, unseen, known, truth = train_test_split(pictures, data.target, random_state=7, stratify=data.target)
    network = train(learnt, known, options.quick)
    model = as_model(network).to(options.device)
    count = sum(p.numel() for p in model.parameters())
    print(f"A network of {count:,} weights has learnt from {len(learnt):,} pictures.")

    compiled = torch.compile(model, fullgraph=True)
    batch = torch.from_numpy(unseen).to(options.device)
    with torch.no_grad():
        chances, seconds = first_call(lambda: compiled(batch), options.device)
        plain = model(batch)
    chances = chances.cpu()
    guesses = chances.argmax(dim=1).numpy()
    check("against scikit-learn", chances, network.predict_proba(unseen), relative=1e-3, absolute=1e-5)
    check("against plain execution", chances, plain, relative=0, absolute=0)
    check("the digits themselves", guesses, network.predict(unseen), relative=0, absolute=0)
    print(
        f"Compiled in {seconds * 1e3:.0f} ms; equal to plain execution to the bit, and to scikit-learn's own answers."
    )
    print(f"Accuracy on {len(unseen)} pictures it has never seen: {(guesses == truth).mean():.1%}\n")

    shown = np.argsort(chances.max(dim=1)[0].numpy())[:4]
    print("The four it is least sure of:")
    for lines in zip(*(drawn(unseen[k]) for k in shown)):
        print("   ".join(lines))
    print(
        "   ".join(f"{guesses[k]} ({chances[int(k), int(guesses[k])].item():.0%})".ljust(16) for k in shown), end="\n\n"
    )

    def run(function):
        with torch.no_grad():
            return function(batch)

    contestants = [
        ("compiled", lambda: run(compiled)),
        ("plain (uncompiled)", lambda: run(model)),
        ("scikit-learn (NumPy)", lambda: network.predict_proba(unseen)),
    ]
    print_times(race(contestants, 5 if options.quick else 200, options.device))


if __name__ == "__main__":
    main()
