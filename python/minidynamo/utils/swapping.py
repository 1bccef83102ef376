"""swap_tensors: two tensors change places, so that all who hold one hold the other."""

from .. import _C
from .._absent import absent_names as _absent_names


def swap_tensors(t1, t2):
    """Elements, gradients, `requires_grad`, classes and attributes of each are those of the other from now on.

    Raises RuntimeError for tensors that are weakly referred to or were computed by operations that are recorded, and
    for classes whose instances are made differently.
    """
    import weakref

    for tensor in (t1, t2):
        if not isinstance(tensor, _C.Tensor):
            raise TypeError(f"swap_tensors() takes two tensors, got a {type(tensor).__name__}")
        if weakref.getweakrefs(tensor):
            raise RuntimeError("Cannot swap a tensor that has weakref associated with it")
        if tensor.grad_fn is not None:
            raise RuntimeError("Cannot swap a tensor that operations with gradients gave: detach() it first")
    if "__slots__" in vars(type(t1)) or "__slots__" in vars(type(t2)):
        raise RuntimeError("Cannot swap tensors of classes with __slots__")
    wants, grads = (t1.requires_grad, t2.requires_grad), (t1.grad, t2.grad)
    elements = t1.detach(), t2.detach()
    for tensor in (t1, t2):
        tensor.grad = None
        tensor.requires_grad_(False)
    classes = type(t1), type(t2)
    if classes[0] is not classes[1]:
        t1.__class__, t2.__class__ = classes[1], classes[0]
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    for k, tensor in enumerate((t1, t2)):
        tensor.data = elements[1 - k]
        tensor.requires_grad_(wants[1 - k])
        tensor.grad = grads[1 - k]


__getattr__ = _absent_names(__name__)
