"""A photograph blurred, its edges found, its tones corrected: shifted slices instead of loops over pixels.

The photograph comes with scikit-learn; without it, an image is made up. Results are saved to out/ with Pillow.
"""

import pathlib

import numpy as np
from measure import arguments, best_seconds, print_times

import minidynamo as torch

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
    if not quick:
        try:
            from sklearn.datasets import load_sample_image

            return "scikit-learn's photograph of a temple in China", load_sample_image("china.jpg")
        except ImportError:
            pass
    y, x = np.mgrid[0:96, 0:128]
    rings = (np.sin(np.hypot(x - 60, y - 50) / 4) > 0) * 160 + 40
    return "a made-up image", np.stack([rings, rings // 2 + x, 255 - rings], axis=2).astype(np.uint8)


def save(name, pixels):
    try:
        from PIL import Image
    except ImportError:
        return None
    folder = pathlib.Path(__file__).resolve().parents[1] / "out"
    folder.mkdir(exist_ok=True)
    Image.fromarray(np.rint(np.clip(pixels, 0, 1) * 255).astype(np.uint8)).save(folder / name)
    return f"out/{name}"


def main():
    options = arguments(__doc__.split("\n")[0])
    what, pixels = photograph(options.quick)
    array = pixels.astype(np.float32) / np.float32(255)
    image = torch.from_numpy(array)
    compiled = torch.compile(pipeline, fullgraph=True)

    results = compiled(image, 0.8)
    print(f"{what}: {tuple(image.shape)}; edges cover {(results[1] > 0.5).float().mean().item():.1%}")
    for ours, eager, numpy in zip(results, pipeline(image, 0.8), pipeline_numpy(array, 0.8)):
        assert torch.equal(ours, eager)
        assert np.allclose(ours.numpy(), numpy, rtol=1e-3, atol=1e-4)
    if not options.quick:
        saved = [save("soft.png", results[0].numpy()), save("edges.png", results[1].numpy())]
        saved.append(save("drawn.png", results[2].numpy()))
        print("saved:", ", ".join(s for s in saved if s) or "nothing (Pillow is not installed)")

    repeat = 2 if options.quick else 7
    print_times(
        [
            ("compiled", best_seconds(lambda: compiled(image, 0.8), repeat)),
            ("plain (eager)", best_seconds(lambda: pipeline(image, 0.8), repeat)),
            ("NumPy", best_seconds(lambda: pipeline_numpy(array, 0.8), repeat)),
        ]
    )


if __name__ == "__main__":
    main()
