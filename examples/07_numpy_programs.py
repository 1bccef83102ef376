"""Two programs written in NumPy, compiled as they are: K-means clustering and PageRank.

Nothing in them mentions tensors. Compiled, their arrays become tensors over the same memory, their NumPy calls become
graph nodes with NumPy's dtypes, and each program is one graph; what comes back are arrays again.
"""

import numpy as np
from measure import begin, check, first_call, print_times, race

import minidynamo as torch
from minidynamo._dynamo.testing import CompileCounter


def kmeans(points, centres, rounds):
    """Lloyd's algorithm: every point joins its nearest centre, every centre moves to the mean of its points."""
    for _ in range(rounds):
        squares = np.sum((points[:, np.newaxis, :] - centres) ** 2, axis=2)
        nearest = np.argmin(squares, axis=1)
        member = nearest[:, np.newaxis] == np.arange(len(centres))
        size = np.maximum(member.sum(axis=0), 1)
        centres = (member.T.astype(np.float64) @ points) / size[:, np.newaxis]
    return centres, nearest


def pagerank(links, damping, rounds):
    """Where a reader who follows random links ends up; pages without links lead everywhere."""
    count = links.shape[0]
    outgoing = links.sum(axis=1)
    follow = np.where(outgoing[:, None] > 0, links / np.maximum(outgoing, 1)[:, None], 1 / count)
    rank = np.full(count, 1 / count)
    for _ in range(rounds):
        rank = (1 - damping) / count + damping * (rank @ follow)
    return rank


def clouds(count, centres, generator):
    """Points scattered around as many random places, and a first guess of the places."""
    places = generator.uniform(-10, 10, (centres, 2))
    points = places[generator.integers(0, centres, count)] + generator.normal(0, 1, (count, 2))
    return points, points[generator.choice(count, centres, replace=False)]


def web(count, generator):
    """A random graph in which low numbers are linked to more often; some pages link nowhere."""
    popularity = 1 / np.arange(1, count + 1)
    links = (generator.random((count, count)) < popularity * 8).astype(np.float64)
    links[generator.random(count) < 0.05] = 0
    return links


def show(name, function, arguments, rounds):
    """Compiles `function` into one graph, checks it against plain NumPy and times both; returns its result."""
    counter = CompileCounter()
    torch.compile(function, backend=counter, fullgraph=True)(*arguments)
    torch._dynamo.reset()
    compiled = torch.compile(function, fullgraph=True)
    result, seconds = first_call(lambda: compiled(*arguments))
    expected = function(*arguments)
    for ours, numpys in zip(*((r if isinstance(r, tuple) else (r,)) for r in (result, expected))):
        assert type(ours) is type(numpys) and ours.dtype == numpys.dtype
        check(name, ours, numpys, relative=1e-9, absolute=1e-12)
    print(f"{name}: {counter.frame_count} graph of {counter.op_count} operations, compiled in {seconds * 1e3:.0f} ms;")
    print("the result is NumPy's.")
    print_times(race([("compiled", lambda: compiled(*arguments)), ("NumPy", lambda: function(*arguments))], rounds))
    print()
    return result


def main():
    options = begin(__doc__, devices=False)
    generator = np.random.default_rng(11)
    rounds = 2 if options.quick else 7

    points, guess = clouds(2_000 if options.quick else 50_000, 8, generator)
    centres, nearest = show("K-means", kmeans, (points, guess, 10), rounds)
    spread = np.sqrt(((points - centres[nearest]) ** 2).sum(axis=1).mean())
    print(f"{len(points):,} points in {len(centres)} clusters; their root mean square distance is {spread:.3f}.\n")

    links = web(200 if options.quick else 2_000, generator)
    rank = show("PageRank", pagerank, (links, 0.85, 20), rounds)
    best = np.argsort(-rank)[:5]
    print(f"Of {len(links):,} pages the first: " + ", ".join(f"{page} ({rank[page]:.4f})" for page in best))


if __name__ == "__main__":
    main()
