"""finfo and iinfo: numeric limits of dtypes, from the widths of their fields."""

from . import _C

# mantissa bits without the implicit one, largest exponent, decimal resolution
_FLOATS = {
    _C.float16: (10, 15, 1e-3),
    _C.bfloat16: (7, 127, 1e-2),
    _C.float32: (23, 127, 1e-6),
    _C.float64: (52, 1023, 1e-15),
}
# What the fields do not say: largest number, smallest normal one, distance of 1 from the next
_SMALL_FLOATS = {
    _C.float8_e4m3fn: (448.0, 2.0**-6, 0.125),
    _C.float8_e5m2: (57344.0, 2.0**-14, 0.25),
    _C.float8_e4m3fnuz: (240.0, 2.0**-7, 0.125),
    _C.float8_e5m2fnuz: (57344.0, 2.0**-15, 0.125),
}


def _name(dtype):
    return str(dtype).removeprefix("torch.")


class finfo:
    """Limits of a floating-point dtype (the default dtype if none is given)."""

    def __init__(self, type=None):
        dtype = _C.get_default_dtype() if type is None else type
        if not isinstance(dtype, _C.dtype):
            raise TypeError(f"finfo(): argument 'type' must be torch.dtype, not {dtype.__class__.__name__}")
        dtype = dtype.to_real()  # the parts have the limits
        if dtype in _SMALL_FLOATS:
            self.dtype, self.bits, self.resolution = _name(dtype), 8, 1.0
            self.max, self.tiny, self.eps = _SMALL_FLOATS[dtype]
            self.min, self.smallest_normal = -self.max, self.tiny
            return
        if dtype not in _FLOATS:
            raise TypeError(f"finfo() needs a floating-point dtype, not {dtype}; integers have iinfo()")
        mantissa, exponent, resolution = _FLOATS[dtype]
        self.dtype = _name(dtype)
        self.bits = dtype.itemsize * 8
        self.eps = 2.0**-mantissa
        self.max = (2.0 - 2.0**-mantissa) * 2.0**exponent
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0 ** (1 - exponent)
        self.resolution = resolution

    def __repr__(self):
        fields = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        return f"finfo({', '.join(f'{f}={getattr(self, f):g}' for f in fields)}, dtype={self.dtype})"

    def __eq__(self, other):
        return self.dtype == other.dtype if isinstance(other, finfo) else NotImplemented

    def __hash__(self):
        return hash(self.dtype)


class iinfo:
    """Limits of an integer dtype."""

    def __init__(self, type):
        if not isinstance(type, _C.dtype):
            raise TypeError(f"iinfo(): argument 'type' must be torch.dtype, not {type.__class__.__name__}")
        if type.is_floating_point or type.is_complex or type is _C.bool:
            raise TypeError(f"iinfo() needs an integer dtype, not {type}; floats have finfo()")
        self.dtype = _name(type)
        self.bits = type.itemsize * 8
        self.max = 2 ** (self.bits - type.is_signed) - 1
        self.min = -(2 ** (self.bits - 1)) if type.is_signed else 0

    def __repr__(self):
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

    def __eq__(self, other):
        return self.dtype == other.dtype if isinstance(other, iinfo) else NotImplemented

    def __hash__(self):
        return hash(self.dtype)
