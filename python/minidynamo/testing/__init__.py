"""torch.testing: assertions on tensors, and random tensors for tests."""

from .._absent import absent_names as _absent_names
from .comparison import assert_allclose as assert_allclose
from .comparison import assert_close as assert_close
from .creation import make_tensor as make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
__getattr__ = _absent_names(__name__)
