"""NumPy on tensors: what the tracer follows where a compiled function calls NumPy.

The tables name a traced function for each of NumPy's, with the constants that come first in its call. What a traced
function does not cover it refuses with an exception; NumPy itself then does the work, outside the graph. Results have
NumPy's dtypes (its own promotion rules are asked, see facts.py); values are those of the tensor operations. Of
floating-point problems there are no warnings.
"""

import numpy

if int(numpy.__version__.partition(".")[0]) >= 2:
    from .tables import ATTRIBUTES, FUNCTIONS, METHODS, UFUNC_METHODS
else:  # it promotes by the values of scalars: nothing is traced
    ATTRIBUTES, FUNCTIONS, METHODS, UFUNC_METHODS = {}, {}, {}, {}

__all__ = ["ATTRIBUTES", "FUNCTIONS", "METHODS", "UFUNC_METHODS"]
