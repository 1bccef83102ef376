"""torch.exp_(x) and its kin: functions of torch's own namespace that write to their first argument.

Most are the method of the same name; the others are functions of minidynamo.nn.functional.
"""

from . import _C
from .nn import functional

METHODS = """
abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ asin_ asinh_ atan_ atanh_ ceil_ clamp_
clamp_max_ clamp_min_ clip_ cos_ cosh_ deg2rad_ erf_ erfc_ exp2_ exp_ expm1_ fill_ fix_ floor_ frac_ gcd_ index_put_
lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ relu_ resize_as_ round_
rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ trunc_ xlogy_ zero_
""".split()
LAYERS = ("celu_", "selu_", "threshold_")
__all__ = [*METHODS, *LAYERS]
globals().update({name: getattr(_C.Tensor, name) for name in METHODS})
globals().update({name: getattr(functional, name) for name in LAYERS})
