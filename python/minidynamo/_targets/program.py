"""A graph as a program for another processor: its launches, and what is known of each without running it."""

import functools

from . import arithmetic, assembler, cards, is_ptx


class TargetKernel:
    """One launch of a TargetProgram.

    `name` is what logs call the kernel, `entry` the function of its code, `text` the code: PTX, or for gfx... the
    assembly that llc makes of it. `grid`, `block`, `shared_bytes`: the launch; `bytes`: what it has to move, each
    element of its tensors once. `call`: the single operation ("aten::mm(mul, l_w_)") that it is a launch of, or "".
    Where the operation has no kernel there, `text` is "" and `why` says so.
    """

    def __init__(self, target, launch):
        self.target, self._launch = target, launch
        self.name, self.entry, self.why = launch["name"], launch["entry"], launch["why"]
        self.call = launch["call"]
        self.grid, self.block = tuple(launch["grid"]), tuple(launch["block"])
        self.shared_bytes, self.bytes, self.arguments = launch["shared_bytes"], launch["bytes"], launch["arguments"]

    @property
    def source(self):
        """What was made here: PTX, or LLVM IR for gfx..."""
        return self._launch["text"]

    @functools.cached_property
    def text(self):
        if not self.source or is_ptx(self.target):
            return self.source
        try:
            return assembler.assembly(self.source, self.target)
        except assembler.CannotAssemble:
            return self.source  # LLVM IR says the same

    @functools.cached_property
    def _assembled(self):
        """(what ptxas says of the kernel or None, why it refuses or "")"""
        if not self.source or not is_ptx(self.target) or assembler.ptxas() is None:
            return None, ""
        try:
            return assembler.assemble(self.source, self.target).get(self.entry), ""
        except assembler.CannotAssemble as error:
            return None, str(error)

    @property
    def resources(self):
        """{"registers", "stack", "spill_stores", "spill_loads", "shared"}, by ptxas; None where there is none."""
        return self._assembled[0]

    @property
    def registers(self):
        """Of a thread, by ptxas; None where there is none."""
        return self.resources["registers"] if self.resources else None

    @functools.cached_property
    def predicted(self):
        """{card: {"occupancy", "share", "seconds"}}: expected, not measured. `share`: of the bandwidth of a copy.

        {} for launches of single operations other than products and convolutions: how much they compute is not known.
        """
        work = arithmetic.work_of(self._launch) if self.call else {}
        if not self.source or not is_ptx(self.target) or work is None:
            return {}
        capability = int(self.target.removeprefix("sm_"))
        return {
            card.name: cards.predict(card, {**self._launch, **work}, self.resources)
            for card in cards.CARDS
            if capability <= card.capability
        }

    def facts(self):
        """What there is to say of it beside its code, in lines."""
        if not self.source:
            return [f"{self.name}: no kernel, {self.why}"]
        shape = f"grid {self.grid}, block {self.block}, {self.shared_bytes} bytes of shared memory"
        lines = [f"{self.name}: {shape}, moves {self.bytes:,} bytes"]
        if self.call:
            lines.append(f"{self.entry}, for {self.call}")
        if self.resources:
            used = self.resources
            spilled = used["spill_stores"] + used["spill_loads"]
            lines.append(f"{used['registers']} registers, {spilled} bytes spilled, {used['stack']} bytes of stack")
        if self._assembled[1]:
            lines.append(f"ptxas refuses it: {self._assembled[1]}")
        for card, told in self.predicted.items():
            lines.append(
                f"{card}, predicted: {told['seconds'] * 1e6:.1f} us, {told['share']:.0%} of the bandwidth of a copy, "
                f"occupancy {told['occupancy']:.0%}"
            )
        return lines

    def __repr__(self):
        return f"TargetKernel({self.name!r}, target={self.target!r}, grid={self.grid}, block={self.block})"


class TargetProgram:
    """What a graph is on `target`: `kernels` (TargetKernel) in the order of their launches.

    `graph`, `direction` ("Forward", "Backward"), `function`, `file`, `line`: which graph of what function; `why`: why
    there is no program, or "". `given` is all of it as dictionaries, which the manifest of `ptx` holds as well.
    """

    def __init__(self, graph, direction, function, file, line, given):
        self.graph, self.direction = graph, direction
        self.function, self.file, self.line, self.given = function, file, line, given
        self.target, self.why = given["target"], given["why"]
        self.kernels = [TargetKernel(self.target, launch) for launch in given["launches"]]

    def __repr__(self):
        return f"TargetProgram({self.graph!r}, {self.direction!r}, target={self.target!r}, kernels={self.kernels})"

    def __str__(self):
        lines = [f"GPU PROGRAM for {self.target}", f" ===== {self.direction} graph of {self.graph} ====="]
        lines.append(f" {self.function}, {self.file}:{self.line}")
        if self.why:
            lines.append(f" none: {self.why}")
        for number, kernel in enumerate(self.kernels, 1):
            first, *more = kernel.facts()
            lines.append(f" launch {number} of {len(self.kernels)}: {first}")
            lines += [f"   {line}" for line in more]
            lines += [kernel.text] if kernel.text else []
        return "\n".join(lines)
