"""How many instructions launches of single operations take, where that follows from the sizes of their operands."""

import math

_TILE = 64 * 64  # results of a block (kProductTile in backend/device_blocks/kernel_params.h)
_IN_TILES = 2  # instructions for a multiplication with its addition: itself, and its share of what feeds it
_ONE_BY_ONE = 60  # where each thread looks for its operands in memory, by the emulated driver's counts


def _depth(launch):
    """How many multiplications a result takes."""
    right = launch["operands"][-1]["sizes"]  # a matrix, a vector, or filters
    if launch["entry"].startswith("convolution"):
        return math.prod(right[1:])
    return right[-2] if len(right) > 1 else right[0]


def work_of(launch):
    """{"instructions", "double_instructions"} of a product or a convolution; None of what else there is.

    Products on tensor cores are none of them: what those reach does not follow from instructions.
    """
    kind, _, dtype = launch["entry"].rpartition("_")
    if kind not in ("product", "convolution_tiles", "convolution"):
        return None
    results = math.prod(launch["results"][0]["sizes"])
    if kind != "convolution":
        results = max(results, math.prod(launch["grid"]) * _TILE)  # tiles at an edge are worked out whole
    count = results * _depth(launch)
    each = _ONE_BY_ONE if kind == "convolution" else _IN_TILES
    double = count if dtype == "f64" else 0
    return {"instructions": each * count - double, "double_instructions": double}
