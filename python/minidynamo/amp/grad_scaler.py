"""GradScaler: losses are multiplied before backward(), so that small gradients do not vanish in float16."""

import enum
import math
import warnings
from collections import abc, defaultdict

from .. import _C
from .._absent import absent_names as _absent_names
from .._no_device import is_present
from ..autograd.grad_mode import no_grad

__all__ = ["OptState", "GradScaler"]


class OptState(enum.Enum):
    """What was done with an optimizer since the last update()."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _fresh():
    return {"stage": OptState.READY, "found_inf": None}


class GradScaler:
    """Multiplies losses by a scale, divides gradients by it, leaves out steps whose gradients are not finite.

    After such a step update() multiplies the scale by `backoff_factor`, after `growth_interval` others in a row by
    `growth_factor`. For 'cuda', the default, it warns and does nothing where there is no such device. AssertionError
    unless growth_factor > 1 > backoff_factor, and for calls out of order; RuntimeError for calls that come twice.
    """

    def __init__(
        self,
        device="cuda",
        init_scale=2.0**16,
        growth_factor=2.0,
        backoff_factor=0.5,
        growth_interval=2000,
        enabled=True,
    ):
        self._device, self._enabled = device, enabled
        if enabled and device == "cuda" and not is_present():
            warnings.warn(
                "GradScaler: there are no CUDA devices, so it does nothing; for the CPU the device is 'cpu'",
                stacklevel=2,
            )
            self._enabled = False
        if not self._enabled:
            return
        if not growth_factor > 1.0:
            raise AssertionError(f"growth_factor has to be above 1, got {growth_factor}")
        if not backoff_factor < 1.0:
            raise AssertionError(f"backoff_factor has to be below 1, got {backoff_factor}")
        self._init_scale, self._scale = init_scale, None
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval, self._growth_tracker = growth_interval, 0
        self._per_optimizer_states = defaultdict(_fresh)

    def _need_scale(self, doing):
        if self._scale is None:
            raise AssertionError(f"{doing}() has nothing to work on: call scale() on the loss or outputs first")

    def scale(self, outputs):
        """A tensor, or an iterable of tensors and iterables, times the scale, in the same dtype."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, _C.Tensor):
            self._scale = self._init_scale if self._scale is None else self._scale
            return outputs * self._scale
        if not isinstance(outputs, abc.Iterable):
            raise ValueError(f"scale() takes a tensor or an iterable of tensors, got {type(outputs).__name__}")
        scaled = [self.scale(output) for output in outputs]
        return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else iter(scaled)

    @no_grad()
    def _unscale_grads(self, optimizer):
        """Divides in place; whether something was not finite, None if there was no gradient at all."""
        found = None
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                grad = parameter.grad
                if grad is None:
                    continue
                if grad.dtype == _C.float16:
                    raise ValueError(
                        "unscale_(): gradients in float16 lose what scaling has saved; keep parameters in float32"
                    )
                values = grad._values() if grad.is_sparse else grad
                is_finite = bool(_C.isfinite(values).all())
                values.mul_(1.0 / self._scale)
                found = bool(found) or not is_finite
        return found

    def unscale_(self, optimizer):
        """Divides the gradients of an optimizer's parameters by the scale, in place; step() does it otherwise."""
        if not self._enabled:
            return
        self._need_scale("unscale_")
        found = self._per_optimizer_states[id(optimizer)]
        if found["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() comes twice for this optimizer: call update() in between")
        if found["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() comes after step() of the same iteration: call update() in between")
        found["found_inf"] = self._unscale_grads(optimizer)
        found["stage"] = OptState.UNSCALED

    def step(self, optimizer, *args, **kwargs):
        """optimizer.step(*args, **kwargs) with unscaled gradients; None without it where one is not finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("step() takes no closure: the scaler has to see the gradients of one pass")
        self._need_scale("step")
        found = self._per_optimizer_states[id(optimizer)]
        if found["stage"] is OptState.STEPPED:
            raise RuntimeError("step() comes twice for this optimizer: call update() in between")
        if found["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if found["found_inf"] is None:
            raise AssertionError("step(): no parameter of this optimizer has a gradient")
        result = None if found["found_inf"] else optimizer.step(*args, **kwargs)
        found["stage"] = OptState.STEPPED
        return result

    def update(self, new_scale=None):
        """The scale for the next iteration: `new_scale`, a number or a tensor of one element, or as the steps went."""
        if not self._enabled:
            return
        self._need_scale("update")
        if isinstance(new_scale, _C.Tensor):
            if new_scale.numel() != 1 or new_scale.requires_grad:
                raise AssertionError("new_scale must be a float or a tensor of one element that does not require grad")
            self._scale = float(new_scale.item())
        elif new_scale is not None:
            if not isinstance(new_scale, (int, float)):
                raise AttributeError(f"new_scale must be a float or a tensor, got {type(new_scale).__name__}")
            self._scale = float(new_scale)
        else:
            self._adapt()
        self._per_optimizer_states = defaultdict(_fresh)

    def _adapt(self):
        found = [state["found_inf"] for state in self._per_optimizer_states.values() if state["found_inf"] is not None]
        if not found:
            raise AssertionError("update(): no step() and no unscale_() came before")
        if any(found):
            self._scale, self._growth_tracker = self._scale * self._backoff_factor, 0
            return
        self._growth_tracker += 1
        if self._growth_tracker == self._growth_interval:
            grown = self._scale * self._growth_factor
            self._scale = grown if math.isfinite(grown) and grown <= _LARGEST else self._scale
            self._growth_tracker = 0

    def get_scale(self):
        """The scale as a float; 1.0 if disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale

    def get_growth_factor(self):
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        self._growth_interval = new_interval

    def is_enabled(self):
        """Whether it does anything."""
        return self._enabled

    def state_dict(self):
        """Numbers that load_state_dict() takes; none if disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict):
        """What state_dict() gave. RuntimeError for that of a disabled one."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("load_state_dict(): the state is empty, as that of a disabled GradScaler is")
        self._init_scale = state_dict["scale"]
        self._scale = None if self._scale is None else state_dict["scale"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval, self._growth_tracker = state_dict["growth_interval"], state_dict["_growth_tracker"]

    def __getstate__(self):
        if self._enabled and self._per_optimizer_states:
            raise AssertionError("A GradScaler can be pickled at the beginning of an iteration, or after update()")
        state = self.__dict__.copy()
        if self._enabled:
            state |= {"_init_scale": self.get_scale(), "_scale": None}
        return state


_LARGEST = 3.4028234663852886e38  # a scale has to be one of float32
__getattr__ = _absent_names(__name__)
