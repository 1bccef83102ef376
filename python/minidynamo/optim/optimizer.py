"""torch.optim.optimizer: what all optimisers share: parameter groups, state, hooks, saved states."""

import functools
import warnings
from collections import defaultdict
from collections.abc import Iterable
from copy import deepcopy
from itertools import chain

from .. import _C
from .._absent import absent_names as _absent_names
from .._dynamo.eval_frame import is_compiling, open_number
from ..autograd.grad_mode import enable_grad, no_grad
from ..nn.hooks import _register

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

ParamsT = Iterable  # of tensors, of pairs (name, tensor), or of dictionaries: for annotations
_pre_hooks_of_all = {}
_post_hooks_of_all = {}
_HOOK_TABLES = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)


class _Required:
    """The one value `required`: the default of an option that every parameter group has to give."""

    def __repr__(self):
        return "<required parameter>"


required = _Required()


def _number_state(value, fused=False):
    """A state of one number, such as the count of steps: a tensor, float64 only if that is the default dtype.

    It is on the CPU, where reading it waits for nothing, whatever the default device is.
    """
    double = not fused and _C.get_default_dtype() == _C.float64
    return _C.tensor(float(value), dtype=_C.float64 if double else _C.float32, device="cpu")


def register_optimizer_step_pre_hook(hook):
    """`hook(optimizer, args, kwargs)` runs before each step of every optimiser. Gives a handle with `remove()`."""
    return _register(_pre_hooks_of_all, hook, False)


def register_optimizer_step_post_hook(hook):
    """`hook(optimizer, args, kwargs)` runs after each step of every optimiser. Gives a handle with `remove()`."""
    return _register(_post_hooks_of_all, hook, False)


def _after_pre_hooks(optimizer, step, args, kwargs):
    """The arguments of a step as its hooks want them."""
    for hook in [*_pre_hooks_of_all.values(), *optimizer._optimizer_step_pre_hooks.values()]:
        changed = hook(optimizer, args, kwargs)
        if changed is None:
            continue
        if not isinstance(changed, tuple) or len(changed) != 2:
            raise RuntimeError(f"a hook before {step} has to give None or a pair (args, kwargs), not {changed}")
        args, kwargs = changed
    return args, kwargs


def _with_hooks(step):
    @functools.wraps(step)
    def hooked_step(*args, **kwargs):
        self = args[0]
        if _pre_hooks_of_all or self._optimizer_step_pre_hooks:
            args, kwargs = _after_pre_hooks(self, step, args, kwargs)
        result = step(*args, **kwargs)
        if _post_hooks_of_all or self._optimizer_step_post_hooks:
            for hook in [*self._optimizer_step_post_hooks.values(), *_post_hooks_of_all.values()]:
                hook(self, args, kwargs)
        return result

    hooked_step.hooked = True
    return hooked_step


class Optimizer:
    """Base of all optimisers; one of your own overrides `step`.

    `params` is an iterable of leaf tensors, of pairs (name, tensor), or of dictionaries: {"params": such an iterable,
    an option: its value}. `defaults` are the options of groups that do not give their own. An option whose default is
    `required` has to be given.

    `param_groups` is the list of these dictionaries, filled up. `state` maps a parameter to a dictionary.

    Raises TypeError for a single tensor, for a set, whose order differs between runs, and for what is no tensor;
    ValueError for no parameters at all, tensors that were computed, and a parameter in two groups.
    """

    def __init__(self, params, defaults):
        self.defaults = defaults
        self._add_missing_parts()
        if isinstance(params, _C.Tensor):
            raise TypeError(f"an optimizer takes an iterable of tensors or of dicts, not one {type(params).__name__}")
        self.state = defaultdict(dict)
        self.param_groups = []
        given = list(params)
        if not given:
            raise ValueError("there are no parameters to optimize")
        for group in given if isinstance(given[0], dict) else [{"params": given}]:
            self.add_param_group(group)

    def _add_missing_parts(self):
        for name in _HOOK_TABLES:
            self.__dict__.setdefault(name, {})
        cls = type(self)
        if not getattr(cls.step, "hooked", False):
            cls.step = _with_hooks(cls.step)

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._add_missing_parts()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self):
        text = type(self).__name__ + " ("
        for index, group in enumerate(self.param_groups):
            text += f"\nParameter Group {index}\n"
            text += "".join(f"    {name}: {group[name]}\n" for name in sorted(group) if name != "params")
        return text + ")"

    def register_step_pre_hook(self, hook):
        """`hook(optimizer, args, kwargs)` runs before each step; it may give a pair (args, kwargs) in their place."""
        return _register(self._optimizer_step_pre_hooks, hook, False)

    def register_step_post_hook(self, hook):
        """`hook(optimizer, args, kwargs)` runs after each step."""
        return _register(self._optimizer_step_post_hooks, hook, False)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """`hook(optimizer)` runs before `state_dict` does."""
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """`hook(optimizer, state_dict)` may change what `state_dict` gives, or give another one."""
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """`hook(optimizer, state_dict)` may change a shallow copy of what is loaded, or give another one."""
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """`hook(optimizer)` runs after a state was loaded."""
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def state_dict(self):
        """{"state": {number of the parameter: its state}, "param_groups": [options, "params" with these numbers]}.

        Parameters are numbered through all groups. The tensors are those of the optimiser, not copies.
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers, groups, first = {}, [], 0
        for group in self.param_groups:
            for number, param in enumerate(group["params"], first):
                numbers.setdefault(id(param), number)
            first += len(group["params"])
            packed = {name: value for name, value in group.items() if name != "params"}
            packed["params"] = [numbers[id(param)] for param in group["params"]]
            groups.append(packed)
        state = {numbers[id(k)] if isinstance(k, _C.Tensor) else k: values for k, values in self.state.items()}
        result = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, result)
            if changed is not None:
                result = changed
        return result

    def load_state_dict(self, state_dict):
        """Takes over what `state_dict` gave: parameters are matched by their order.

        States are cast to the dtype of their parameter. Raises ValueError if the groups differ in number or size.
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        loaded = deepcopy(state_dict["param_groups"])
        sizes, own_sizes = ([len(group["params"]) for group in groups] for groups in (loaded, self.param_groups))
        if len(sizes) != len(own_sizes):
            raise ValueError(f"{len(sizes)} parameter groups were saved, the optimizer has {len(own_sizes)}")
        if sizes != own_sizes:
            raise ValueError(f"parameter groups of sizes {sizes} were saved, those of the optimizer are {own_sizes}")
        params, options = {}, {}
        for group, own in zip(loaded, self.param_groups):
            params.update(zip(group["params"], own["params"]))
            for number in group["params"]:
                options.setdefault(number, group)
            group["params"] = own["params"]
            if "param_names" in own:
                group.setdefault("param_names", own["param_names"])
        state = defaultdict(dict)
        for key, values in state_dict["state"].items():
            if key in params:
                state[params[key]] = _fitted(values, params[key], options[key])
            else:
                state[key] = values
        self.__setstate__({"state": state, "param_groups": loaded})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def zero_grad(self, set_to_none=True):
        """Takes the gradients of all parameters away; with `set_to_none=False` fills them with zeros."""
        for param in chain.from_iterable(group["params"] for group in self.param_groups):
            if param.grad is None:
                continue
            if set_to_none:
                param.grad = None
                continue
            if param.grad.grad_fn is not None:
                param.grad.detach_()
            else:
                param.grad.requires_grad_(False)
            param.grad.zero_()

    def step(self, closure=None):
        """One update of all parameters that have a gradient. `closure` computes the loss anew and gives it."""
        raise NotImplementedError(f"{type(self).__name__} has no step()")

    def add_param_group(self, param_group):
        """Optimises more parameters: {"params": a tensor or an iterable, an option: its value}."""
        if not isinstance(param_group, dict):
            raise TypeError(f"a parameter group has to be a dict, not {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError("the parameters of an optimizer need an order, which sets do not keep: use a list")
        params = [params] if isinstance(params, _C.Tensor) else list(params)
        names = [param[0] for param in params if isinstance(param, tuple)]
        params = [param[1] if isinstance(param, tuple) else param for param in params]
        param_group["params"] = params
        if names:
            if len(names) != len(params):
                raise ValueError(f"of {len(params)} parameters {len(names)} have names: give all of them one, or none")
            param_group["param_names"] = names
        self._check_params(params)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"the parameter group gives no {name!r}, which is required")
            param_group.setdefault(name, default)
        self._check_apart_from_others(param_group)
        self.param_groups.append(param_group)

    def _check_params(self, params):
        for param in params:
            if not isinstance(param, _C.Tensor):
                raise TypeError(f"an optimizer takes tensors, not {type(param).__name__}")
            if not (param.is_leaf or param.retains_grad):
                raise ValueError("a tensor that was computed from others cannot be optimized: it is no leaf")

    def _check_apart_from_others(self, param_group):
        own = {id(param) for param in param_group["params"]}
        if len(own) != len(param_group["params"]):
            warnings.warn("a parameter group contains a parameter twice", stacklevel=4)
        named = "param_names" in param_group
        if any(named != ("param_names" in group) for group in self.param_groups):
            raise ValueError("either all parameter groups have names of parameters, or none has")
        if any(id(param) in own for group in self.param_groups for param in group["params"]):
            raise ValueError("a parameter is in more than one parameter group")


def _fitted(value, param, options, key=None):
    """A loaded state as one of `param`. The count of steps keeps its dtype: a bfloat16 could not count far."""
    if isinstance(value, _C.Tensor):
        if key == "step":
            counts_in_float = options.get("capturable") or options.get("fused")
            return value.to(dtype=_C.float32, device=param.device) if counts_in_float else value
        if param.is_floating_point() or (param.is_complex() and value.is_complex()):
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)
    if isinstance(value, dict):
        return {name: _fitted(inner, param, options, name) for name, inner in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return type(value)(_fitted(inner, param, options) for inner in value)
    return value


class _PerParameter(Optimizer):
    """An optimiser that updates each parameter from its own gradient and state: `_begin` and `_update` say how."""

    _common_options = {"foreach": None, "differentiable": False}
    _added_options = {}  # what states saved by old versions lack
    _takes_sparse = False  # gradients
    _numbers = ("step",)  # states that are tensors of one number, plain numbers in old versions
    _listed = ()  # states in the order in which `_init_group` takes lists for them

    def __init__(self, params, defaults):
        super().__init__(params, defaults)
        if defaults.get("fused") and defaults.get("differentiable"):
            raise RuntimeError("fused=True and differentiable=True exclude each other")
        if defaults.get("fused") and defaults["foreach"]:
            raise RuntimeError("fused=True and foreach=True exclude each other")
        if defaults.get("differentiable"):
            raise NotImplementedError(
                "differentiable=True: steps write in place without a record; take the step in operations of your own"
            )

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in {**self._common_options, **self._added_options}.items():
                group.setdefault(name, value)
            for param in group["params"]:
                values = self.state[param] if param in self.state else {}
                for name in self._numbers:
                    if name in values and not isinstance(values[name], _C.Tensor):
                        values[name] = _number_state(values[name], group.get("fused"))

    @no_grad()
    def step(self, closure=None):
        """One update of all parameters that have a gradient; gives what `closure` gives, which runs before it."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            if is_compiling():  # schedules change lr: one compiled step serves all values
                group = {**group, "lr": open_number(group["lr"])}
            for param in group["params"]:
                if param.grad is not None:
                    self._step_of(param, group)
        return loss

    def _init_group(self, group, params, grads, *lists):
        """Fills lists with the parameters that have gradients, the gradients and their states, begun where missing.

        True: one of the parameters is complex. For optimizers that take the step of a group by themselves.
        """
        complex_ones = False
        for param in group["params"]:
            if param.grad is None:
                continue
            if param.grad.is_sparse and not self._takes_sparse:
                raise RuntimeError(f"{type(self).__name__} does not take sparse gradients")
            complex_ones |= param.is_complex()
            params.append(param)
            grads.append(param.grad)
            state = self.state[param]
            if not state:
                self._begin_where_counted(param, group, state)
            for name, values in zip(self._listed, lists):
                if name in state:
                    values.append(state[name])
        return complex_ones

    def _step_of(self, param, group):
        if group.get("capturable") and param.is_cpu:
            raise AssertionError("capturable=True is for parameters on accelerators, not on the CPU")
        if param.grad.is_sparse and not self._takes_sparse:
            raise RuntimeError(f"{type(self).__name__} does not take sparse gradients; SparseAdam, SGD and Adagrad do")
        grad = -param.grad if group["maximize"] else param.grad
        state = self.state[param]
        if param.is_complex():
            return self._step_of_parts(_C.view_as_real(param), _C.view_as_real(grad.resolve_conj()), group, state)
        if not state:
            self._begin_where_counted(param, group, state)
        state["step"].add_(1)
        self._update(param, grad, group, state)

    def _step_of_parts(self, param, grad, group, state):
        """Of a complex parameter: its parts are parameters; kept are complex states."""
        if state:
            parts = {name: _C.view_as_real(v) if _is_complex(v) else v for name, v in state.items()}
        else:
            parts = {}
            self._begin_where_counted(param, group, parts)
        parts["step"].add_(1)
        self._update(param, grad, group, parts)
        for name, value in parts.items():
            of_parts = isinstance(value, _C.Tensor) and value.shape == param.shape
            if name not in state:
                state[name] = _C.view_as_complex(value) if of_parts else value
            elif not _is_complex(state[name]):
                state[name] = value

    def _begin_where_counted(self, param, group, state):
        """Numbers are on the CPU, or with `capturable` where the parameter is."""
        self._begin(param, group, state)
        if group.get("capturable"):
            state.update({name: state[name].to(param.device) for name in self._numbers if name in state})

    def _begin(self, param, group, state):
        raise NotImplementedError

    def _update(self, param, grad, group, state):
        raise NotImplementedError


def _is_complex(value):
    return isinstance(value, _C.Tensor) and value.is_complex()


def _check_lr(lr):
    if isinstance(lr, _C.Tensor) and lr.numel() != 1:
        raise ValueError(f"a tensor as lr needs one element, not {lr.numel()}")
    _check_not_negative(lr=lr)


def _check_not_negative(**options):
    for name, value in options.items():
        if not 0.0 <= value:
            raise ValueError(f"{name} must not be negative: {value}")


def _check_betas(betas):
    for index in range(2):
        if not 0.0 <= betas[index] < 1.0:
            raise ValueError(f"betas[{index}] has to be at least 0 and less than 1: {betas[index]}")


__getattr__ = _absent_names(__name__)
