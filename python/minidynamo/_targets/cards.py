"""What a kernel can be expected to take on two cards: occupancy and a roofline of bytes and instructions.

All of it is predicted from facts about the cards and the numbers of the program; nothing is measured.
"""

import math

_ROUND_TRIP = 650e-9  # seconds from a load to its value, memory busy
_MOST_IN_FLIGHT = 64  # bytes of loads that a thread has under way
_OF_PEAK = 0.92  # what copies reach of the bandwidth that memory has
_FIXED = 2.0e-6  # seconds that any kernel takes


class Card:
    """Facts of one card. `double`: how many float64 instructions a multiprocessor does in a cycle; `lanes`: others."""

    def __init__(self, name, capability, multiprocessors, clock, bandwidth, *, threads, blocks, shared, lanes, double):
        self.name, self.capability, self.multiprocessors = name, capability, multiprocessors
        self.clock, self.bandwidth = clock, bandwidth
        self.threads, self.blocks, self.shared, self.lanes, self.double = threads, blocks, shared, lanes, double
        self.registers = 65536

    @property
    def copy_bandwidth(self):
        """Bytes a second, read and written, of a large copy."""
        return _OF_PEAK * self.bandwidth


CARDS = (
    Card("H100 SXM", 90, 132, 1.98e9, 3352e9, threads=2048, blocks=32, shared=228 << 10, lanes=128, double=64),
    Card("RTX 4090", 89, 128, 2.52e9, 1008e9, threads=1536, blocks=24, shared=100 << 10, lanes=128, double=2),
)


def resident_threads(card, block, registers, shared):
    """How many threads of such blocks a multiprocessor holds at a time; 0: not even one block."""
    warps = math.ceil(block / 32)
    if not warps or warps * 32 > 1024 or registers > 255:
        return 0
    of_warp = max(math.ceil(registers * 32 / 256) * 256, 256)  # registers come in pieces of 256
    by_registers = card.registers // of_warp // 4 * 4 // warps  # four schedulers share them
    by_shared = card.shared // (math.ceil(shared / 128) * 128 + 1024)
    return min(by_registers, by_shared, card.blocks, card.threads // (warps * 32)) * warps * 32


def predict(card, kernel, used=None):
    """{"occupancy", "share", "seconds"}: threads of the possible ones, the share of a copy's bandwidth, the time.

    `kernel` is a launch of a program; `used` what ptxas says of it: without, 32 registers are taken to be used.
    """
    block, grid = math.prod(kernel["block"]), math.prod(kernel["grid"])
    used = used or {"registers": 32, "shared": 0}
    shared = max(kernel["shared_bytes"], used["shared"])
    resident = resident_threads(card, block, used["registers"], shared)
    if not resident or not grid:
        return {"occupancy": 0.0, "share": 0.0, "seconds": _FIXED if resident else math.inf}
    total = grid * block
    at_once = min(total, resident * card.multiprocessors)
    in_flight = at_once * min(kernel["bytes"] / total, _MOST_IN_FLIGHT)
    needed = card.copy_bandwidth * _ROUND_TRIP
    waves = total / (resident * card.multiprocessors)
    even = waves / math.ceil(waves) if waves > 1 else 1.0  # the last wave leaves some idle
    share = min(1.0, in_flight / needed) * max(even, 0.5)
    moving = kernel["bytes"] / (card.copy_bandwidth * share) if kernel["bytes"] else 0.0
    lanes = card.multiprocessors * card.clock * min(1.0, at_once / (card.multiprocessors * card.lanes))
    working = kernel.get("instructions", 0) / (lanes * card.lanes) + kernel.get("double_instructions", 0) / (
        lanes * card.double
    )
    seconds = max(moving, working)
    reached = kernel["bytes"] / seconds / card.copy_bandwidth if seconds else 0.0
    return {"occupancy": resident / card.threads, "share": reached, "seconds": seconds + _FIXED}
