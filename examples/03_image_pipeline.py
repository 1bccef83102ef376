"""A photograph blurred, its edges found, its tones corrected: shifted slices instead of loops over pixels.

The photograph comes with scikit-learn and is turned from bytes into float32 by NumPy. Slices, transposed views and
broadcasting all end in fused loops; no shifted copy is ever made. Pillow saves the results to the folder out/.
"""

import pathlib

import numpy as np
from measure import begin, check, first_call, print_times, race
from PIL import Image
from sklearn.datasets import load_sample_image

import minidynamo as torch

OUT = pathlib.Path(__file__).resolve().parents[1] / "out"
WEIGHTS = (0.0625, 0.25, 0.375, 0.25, 0.0625)  # binomial, sums to one


def blur_rows(image):
    height = image.shape[0]
    parts = [w * image[k : height - 4 + k] for k, w in enumerate(WEIGHTS)]
    return parts[0] + parts[1] + parts[2] + parts[3] + parts[4]


def pipeline(image, gamma):
    """Blurred grey image, strength of its edges, and the picture with edges darkened and gamma applied."""
    grey = 0.299 * image[:, :, 0] + 0.587 * image[:, :, 1] + 0.114 * image[:, :, 2]
    soft = blur_rows(blur_rows(grey).t()).t()
    across = soft[:, 2:] - soft[:, :-2]
    down = soft[2:, :] - soft[:-2, :]
    edges = torch.sqrt(across[1:-1] * across[1:-1] + down[:, 1:-1] * down[:, 1:-1])
    strength = torch.clamp(edges * 4.0, 0.0, 1.0)
    inside = image[3:-3, 3:-3]
    drawn = inside * (1.0 - 0.8 * strength).unsqueeze(2)
    return soft, strength, torch.pow(drawn, gamma)


def pipeline_numpy(image, gamma):
    def rows(a):
        return sum(np.float32(w) * a[k : a.shape[0] - 4 + k] for k, w in enumerate(WEIGHTS))

    grey = image @ np.array([0.299, 0.587, 0.114], dtype=np.float32)
    soft = rows(rows(grey).T).T
    across = soft[:, 2:] - soft[:, :-2]
    down = soft[2:, :] - soft[:-2, :]
    edges = np.sqrt(across[1:-1] ** 2 + down[:, 1:-1] ** 2)
    strength = np.clip(edges * np.float32(4), 0, 1)
    drawn = image[3:-3, 3:-3] * (1 - np.float32(0.8) * strength)[:, :, None]
    return soft, strength, drawn ** np.float32(gamma)


def photograph(quick):
    """Height x width x 3, bytes."""
    picture = load_sample_image("china.jpg")
    return picture[100:228, 200:360] if quick else picture


def save(name, pixels, folder):
    folder.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.rint(np.clip(pixels, 0, 1) * 255).astype(np.uint8)).save(folder / name)


def main():
    options = begin(__doc__)
    pixels = photograph(options.quick)
    array = pixels.astype(np.float32) / np.float32(255)
    image = torch.from_numpy(array).to(options.device)
    compiled = torch.compile(pipeline, fullgraph=True)

    results, seconds = first_call(lambda: compiled(image, 0.8), options.device)
    height, width, _ = image.shape
    print(f"{width} x {height} pixels; the first call, which traces and compiles, took {seconds * 1e3:.0f} ms.")
    print(f"Edges cover {(results[1] > 0.5).float().mean().item():.1%} of the picture.")
    names = ("soft", "edges", "drawn")
    for name, ours, plain, numpy in zip(names, results, pipeline(image, 0.8), pipeline_numpy(array, 0.8)):
        check(f"{name} against NumPy", ours, numpy, relative=1e-3, absolute=1e-4)
        check(f"{name} against plain execution", ours, plain, relative=0, absolute=0)
    print("Checked: equal to plain execution to the bit, and to NumPy.")

    folder = OUT / "quick" if options.quick else OUT
    save("photograph.png", array, folder)
    for name, result in zip(names, results):
        save(f"{name}.png", result.numpy(force=True), folder)
    print(f"Saved to {folder.relative_to(OUT.parent)}/: photograph.png, {'.png, '.join(names)}.png\n")

    contestants = [
        ("compiled", lambda: compiled(image, 0.8)),
        ("plain (uncompiled)", lambda: pipeline(image, 0.8)),
        ("NumPy", lambda: pipeline_numpy(array, 0.8)),
    ]
    print_times(race(contestants, 2 if options.quick else 9, options.device))


if __name__ == "__main__":
    main()
