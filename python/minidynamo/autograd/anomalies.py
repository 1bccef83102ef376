"""Looking for the operation whose gradient is NaN, which is not done here."""


def _refuse(mode):
    if mode:
        raise NotImplementedError(
            "anomaly detection is not here: backward() does not look for NaN in the gradients of each operation. "
            "tensor.register_hook(lambda g: ...) sees the gradient of a tensor"
        )


class set_detect_anomaly:
    """Turns anomaly detection off, which it is; also as a context manager. NotImplementedError for turning it on."""

    def __init__(self, mode, check_nan=True):
        if not isinstance(mode, bool):
            raise TypeError(f"set_detect_anomaly(): mode has to be a bool, not {type(mode).__name__}")
        _refuse(mode)

    def __enter__(self):
        return None

    def __exit__(self, *error):
        return None


class detect_anomaly:
    """NotImplementedError: see set_detect_anomaly()."""

    def __init__(self, check_nan=True):
        _refuse(True)
