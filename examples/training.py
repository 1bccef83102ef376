"""What the examples that train share: a bar over the steps, and pictures in the folder out/."""

import itertools
import pathlib
import sys

from matplotlib.figure import Figure
from tqdm import tqdm

OUT = pathlib.Path(__file__).resolve().parents[1] / "out"
INK, BLUE, ORANGE, GREY = "#222222", "#1f6fb4", "#e0701a", "#999999"


def losses_of(step, batches, count, what, schedule=None, device="cpu"):
    """Takes so many training steps, each on the next batch, with a progress bar; returns the losses as floats.

    Batches go to the device.
    """
    losses = []
    pause = 0.5 if sys.stderr.isatty() else 10  # seconds between redrawings; a log keeps them all
    bar = tqdm(itertools.islice(batches, count), desc=what, total=count, unit=" steps", mininterval=pause)
    for batch in bar:
        losses.append(step(*(part.to(device) for part in batch)).item())
        if schedule is not None:
            schedule.step()
        bar.set_postfix(loss=f"{losses[-1]:.4f}", refresh=False)
    return losses


def endless(loader):
    """Its batches, over and over."""
    while True:
        yield from loader


def sheet(width, height):
    """An empty picture of so many inches."""
    return Figure(figsize=(width, height), dpi=110, layout="constrained")


def axes_of(figure, place, title, across, up):
    """Axes at a place of the sheet, with as little around them as will do."""
    axes = figure.add_subplot(place)
    axes.set(title=title, xlabel=across, ylabel=up)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def show_pictures(figure, place, pictures, titles=None):
    """Grey pictures of equal size in a grid: `pictures` is (rows, columns, height, width), 0 white to 1 black."""
    rows, columns = len(pictures), len(pictures[0])
    grid = place.subgridspec(rows, columns)
    for k in range(rows * columns):
        axes = figure.add_subplot(grid[k // columns, k % columns])
        axes.imshow(pictures[k // columns][k % columns], cmap="Greys", vmin=0, vmax=1)
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_visible(False)
        if titles is not None:
            axes.set_title(titles[k], fontsize=8)


def save(figure, name, options):
    """Into out/, or out/quick/ with --quick; says where."""
    folder = OUT / "quick" if options.quick else OUT
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / name)
    print(f"Saved to {(folder / name).relative_to(OUT.parent)}")
