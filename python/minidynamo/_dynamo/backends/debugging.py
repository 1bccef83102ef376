"""Backends that run graphs as they are, for finding out where something goes wrong."""

from ..._absent import absent_names as _absent_names
from ..eval_frame import lookup_backend as _lookup
from ..output import ExplainOutput as ExplainOutput


def eager(gm, fake_tensor_inputs, **kwargs):
    """Runs the graph as it is."""
    return gm.forward


def eager_noexcept(gm, fake_tensor_inputs, **kwargs):
    """The same; an exception out of the graph is a defect: RuntimeError."""

    def run(*args):
        try:
            return gm.forward(*args)
        except Exception as error:
            raise RuntimeError("Unexpected exception when running generated GraphModule") from error

    return run


def aot_eager(gm, fake_tensor_inputs, **kwargs):
    """Runs the functional graph op after op."""
    return _lookup("aot_eager")(gm, fake_tensor_inputs)


__getattr__ = _absent_names(__name__)
