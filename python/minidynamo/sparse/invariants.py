"""Whether what compressed sparse tensors are made of is checked."""


class check_sparse_tensor_invariants:
    """Whether constructors of compressed tensors check what they are given; also a context and a decorator."""

    _on = False

    def __init__(self, enable=True):
        self._wanted, self._before = enable, []

    @staticmethod
    def is_enabled():
        return check_sparse_tensor_invariants._on

    @staticmethod
    def enable():
        check_sparse_tensor_invariants._on = True

    @staticmethod
    def disable():
        check_sparse_tensor_invariants._on = False

    def __enter__(self):
        self._before.append(check_sparse_tensor_invariants._on)
        check_sparse_tensor_invariants._on = self._wanted

    def __exit__(self, kind, value, traceback):
        check_sparse_tensor_invariants._on = self._before.pop()

    def __call__(self, function):
        from functools import wraps

        @wraps(function)
        def checked(*args, **kwargs):
            with type(self)(self._wanted):
                return function(*args, **kwargs)

        return checked
