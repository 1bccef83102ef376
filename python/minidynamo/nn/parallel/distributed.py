"""torch.nn.parallel.distributed: a module trained by the processes of a group. The group has one process."""

import contextlib

from ..._absent import absent_names as _absent_names
from ..module import Module


class DistributedDataParallel(Module):
    """Calls `module`, its only submodule. Gradients are means over the processes, of which there is one.

    How they would be exchanged (`bucket_cap_mb`, `find_unused_parameters`, `static_graph`, ...) makes no difference.
    ValueError before init_process_group() and for CUDA devices, RuntimeError for a module without parameters that
    require grad, NotImplementedError for what would change values: `mixed_precision`, `device_mesh` and hooks.
    """

    def __init__(
        self,
        module,
        device_ids=None,
        output_device=None,
        dim=0,
        broadcast_buffers=None,
        init_sync=True,
        process_group=None,
        bucket_cap_mb=None,
        find_unused_parameters=False,
        check_reduction=False,
        gradient_as_bucket_view=False,
        static_graph=False,
        delay_all_reduce_named_params=None,
        param_to_hook_all_reduce=None,
        mixed_precision=None,
        device_mesh=None,
        skip_all_reduce_unused_params=False,
        bucket_cap_mb_list=None,
        batched_grad_copy=False,
        forward_sync_buffers=None,
    ):
        from ...distributed._group import member  # here, so that nn loads without what connects processes

        super().__init__()
        self.process_group = member(process_group)
        for given, name in (
            (mixed_precision, "mixed_precision"),
            (device_mesh, "device_mesh"),
            (delay_all_reduce_named_params, "delay_all_reduce_named_params"),
            (param_to_hook_all_reduce, "param_to_hook_all_reduce"),
        ):
            if given is not None:
                raise NotImplementedError(f"DistributedDataParallel: {name} is not supported")
        if not any(parameter.requires_grad for _, parameter in module.named_parameters()):
            raise RuntimeError("DistributedDataParallel is not needed: no parameter of the module requires grad")
        if device_ids or output_device is not None:
            raise ValueError(
                "DistributedDataParallel: device_ids and output_device are for modules on CUDA devices, got "
                f"{device_ids} and {output_device} for a module on the CPU"
            )
        self.module = module
        self.device = next(module.parameters()).device
        self.device_type, self.device_ids, self.output_device, self.dim = self.device.type, None, None, dim
        self.broadcast_buffers = True if broadcast_buffers is None else broadcast_buffers
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = self.require_forward_param_sync = True

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)

    @contextlib.contextmanager
    def no_sync(self):
        """Gradients of calls within would stay with this process, where they are anyhow."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    @contextlib.contextmanager
    def join(self, divide_by_initial_world_size=True, enable=True, throw_on_early_termination=False):
        """Processes may have batches of different numbers within; there is one process."""
        yield self

    def register_comm_hook(self, state, hook):
        """NotImplementedError: gradients are not exchanged, so no hook would be called."""
        raise NotImplementedError("register_comm_hook: gradients of one process are not exchanged")


__getattr__ = _absent_names(__name__)
