"""Graphs as programs for a device, launched with the driver's functions alone: any text may stand in for a kernel's."""

import contextlib
import warnings

import numpy

import minidynamo as torch
from minidynamo._dynamo import config
from minidynamo._dynamo.recording import recording

from .emulated_driver import CudaError

TARGET = "sm_90"


class Finding(Exception):
    """A check of the emulated driver has fired, or a text was refused; `kind` in the driver's words."""

    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind


def results_of(function, inputs):
    """The CPU's, as arrays."""
    results = function(*inputs)
    return [_array(r) for r in (results if isinstance(results, tuple) else (results,))]


class LaunchedGraph:
    """A function's one graph for given tensors of the CPU, whose results are to be `expected`: arrays."""

    def __init__(self, function, inputs, dynamic=False, expected=None):
        torch._dynamo.reset()
        with config.patch(target=TARGET), recording() as record, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.compile(function, backend="eager", dynamic=dynamic, fullgraph=True)(*inputs)
        (self.program,) = record.programs
        self.given = self.program.given
        self.expected = expected or results_of(function, inputs)
        self.texts = [launch["text"] for launch in self.given["launches"]]
        assert all(self.texts), [launch["why"] for launch in self.given["launches"]]
        by_name = {f"l_{name}_": x for name, x in zip(function.__code__.co_varnames, inputs, strict=False)}
        self._contents = {i["memory"]: _bytes(by_name[i["name"]]) for i in self.given["inputs"]}

    @property
    def input_bytes(self):
        return sum(map(len, self._contents.values()))

    def run(self, driver, texts=None):
        """The results on the device, with `texts` for the kernels; raises Finding. Memory ends where tensors do."""
        with _context(driver):
            memories = self._allocate(driver)
            for launch, text in zip(self.given["launches"], texts or self.texts, strict=True):
                self._launch(driver, launch, text, memories)
            return [
                self._result(driver, o, memories[o["memory"]], e)
                for o, e in zip(self.given["outputs"], self.expected, strict=True)
            ]

    def differs(self, driver, texts=None):
        """How the results are wrong, in a word or two, or None."""
        try:
            found = self.run(driver, texts)
        except Finding as finding:
            return finding.kind
        return None if all(map(_same, found, self.expected)) else "result"

    def _allocate(self, driver):
        memories = {"status": driver.upload(bytes(4))}
        for tensor in (*self.given["inputs"], *self.given["outputs"]):
            if tensor.get("bytes") is None or tensor.get("is_size"):
                continue
            content = self._contents.get(tensor["memory"])
            memories[tensor["memory"]] = driver.upload(content) if content else driver.allocate(max(tensor["bytes"], 1))
        for number, size in enumerate(self.given["temporaries"]):
            memories[f"temporary {number}"] = driver.allocate(max(size, 1))
        return memories

    def _launch(self, driver, launch, text, memories):
        if 0 in launch["grid"]:
            return
        try:
            function = driver.function(text, launch["entry"])
        except CudaError as error:
            raise Finding("refused", str(error)) from None
        words = [_word(argument, memories) for argument in launch["arguments"]]
        shape = {"grid": launch["grid"], "block": launch["block"], "shared": launch["shared_bytes"]}
        code = driver.launch(function, *words, **shape, code=True) or driver.code("cuCtxSynchronize")
        if code:
            found = driver.findings()[-1:]
            raise Finding(found[0]["kind"] if found else f"code {code}", found[0]["text"] if found else "")

    def _result(self, driver, tensor, address, expected):
        size = numpy.dtype(expected.dtype).itemsize
        whole = driver.download(address, tensor["bytes"])
        return numpy.lib.stride_tricks.as_strided(
            numpy.frombuffer(whole, expected.dtype)[tensor["shift"] :],
            tensor["sizes"],
            [stride * size for stride in tensor["strides"]],
        ).copy()


def _array(tensor):
    tensor = tensor.detach()
    return tensor.view(torch.int16).numpy() if tensor.dtype == torch.bfloat16 else tensor.contiguous().numpy()


def _bytes(tensor):
    """Of its whole memory."""
    return bytes(_array(tensor).tobytes()) if isinstance(tensor, torch.Tensor) else None


def _same(a, b):
    """The same bits; what is no number has many."""
    if a.dtype.kind != "f":
        return numpy.array_equal(a, b)
    return numpy.array_equal(a, b, equal_nan=True) and numpy.array_equal(
        numpy.signbit(a)[a == 0], numpy.signbit(b)[b == 0]
    )


def _word(argument, memories):
    if argument["kind"] == "status":
        return memories["status"]
    if argument["kind"] == "buffer":
        return memories[argument["of"]] + argument["shift"] * getattr(torch, argument["dtype"]).itemsize
    return argument["value"] & (1 << 64) - 1


@contextlib.contextmanager
def _context(driver):
    """A context of its own: what breaks it breaks no other."""
    driver("cuInit", 0)
    context = driver.get("cuCtxCreate_v2", 0, 0)
    try:
        yield
    finally:
        driver.code("cuCtxDestroy_v2", context)
