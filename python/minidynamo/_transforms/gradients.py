"""grad, grad_and_value, vjp, jvp, linearize: gradients of functions.

They stand on the record of operations that backward() uses. A function sees its arguments as tensors of their own,
connected to what is outside where that requires grad itself; inside vmap each example has its own copy of them, so that
gradients are those of one example. Products with tangents use that J^T u is linear in u: its derivative along t is J t.
"""

from .. import _C
from ..autograd.backward import run_pass
from ..autograd.grad_mode import enable_grad
from .nesting import alike, flattened, map_tensors, named_after, rebuilt

modes = []  # of each Level under way, outermost first, whether its products are along tangents


class Level:
    """A call of a function whose gradients are asked for; with `forward`, for products with tangents."""

    def __init__(self, forward=False):
        self.forward = forward

    def __enter__(self):
        self.number = _C._begin_grad()
        modes.append(self.forward)
        self.seen = []
        self.vmaps = _C._vmap_levels()
        self.reached = []
        self.recording = enable_grad()
        self.recording.__enter__()
        return self

    def __exit__(self, *error):
        modes.pop()
        self.recording.__exit__(*error)
        _C._end_transform(self.number)

    def input(self, x):
        """The tensor that the function sees in the place of `x`."""
        seen, reached = _C._input_of_level(x, self.number)
        self.reached.append(reached)
        return seen

    def inputs(self, tree):
        """All tensors of containers as inputs. ValueError for anything else among them."""
        leaves, nesting = flattened(tree)
        for x in leaves:
            if not isinstance(x, _C.Tensor):
                raise ValueError(f"gradients are asked for with respect to tensors, and one input is {type(x)}")
        return rebuilt([self.input(x) for x in leaves], nesting)

    def whole(self, x):
        """`x` with the examples of every vmap around the level in front, as the record has its inputs."""
        return _C._without_levels(x, self.vmaps)

    def gradients(self, outputs, reached, cotangents, create_graph, keep_graph=True):
        """For each of `reached` the products of the outputs' gradients with the cotangents; None where there are none.

        All are whole().
        """
        flowing = [(y, v) for y, v in zip(outputs, cotangents) if y is not None and y.requires_grad]
        if not flowing:
            return (None,) * len(reached)
        outputs, cotangents = zip(*flowing)
        return run_pass(outputs, cotangents, keep_graph, create_graph, tuple(reached), False)

    def filled(self, found, reached):
        """Zeros for what nothing depends on."""
        return [_C.zeros_like(x) if g is None else g for g, x in zip(found, reached)]

    def outside(self, x):
        """A whole() result as it leaves the level."""
        return _C._outside(_C._with_levels(x, self.vmaps))


def _leaving(tree):
    return map_tensors(_C._outside, tree)


def _is_index(argnums):
    return isinstance(argnums, int) and not isinstance(argnums, bool)


def chosen(argnums, args):
    """The positions among `args` that `argnums` names. RuntimeError for what names none."""
    if not _is_index(argnums) and not (isinstance(argnums, tuple) and all(map(_is_index, argnums))):
        raise RuntimeError(f"argnums is an int or a tuple of ints, and was given as {type(argnums)}")
    numbers = (argnums,) if _is_index(argnums) else argnums
    if not numbers:
        raise RuntimeError("argnums names no argument")
    for i in numbers:
        if not -len(args) <= i < len(args):
            raise RuntimeError(f"argnums names argument {i}, and there are {len(args)} positional arguments")
    found = [i % len(args) for i in numbers]
    if len(set(found)) != len(found):
        raise RuntimeError(f"argnums names an argument twice: {argnums}")
    return found


def with_inputs(level, args, places):
    """`args` with those at `places` as inputs of the level, and these."""
    args = list(args)
    for i in places:
        args[i] = level.inputs(args[i])
    return args, [args[i] for i in places]


def with_aux(function, output):
    """(output, aux) of a function that returns both. RuntimeError if it does not."""
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(f"{function}: with has_aux the function gives a tuple, (result, aux), not {type(output)}")
    for x in flattened(output[1])[0]:
        if not isinstance(x, _C.Tensor):
            raise RuntimeError(f"tensors are wanted here, not {type(x)}")
    return output


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that gives (gradients, value): those of `func`, which returns one number as a tensor.

    Gradients are of the arguments that `argnums` names, an int or a tuple of ints, and nested as they are. With
    `has_aux`, `func` returns (value, aux), and the result is (gradients, (value, aux)). RuntimeError for another value
    than a tensor without dimensions, for arguments that are no floats, and for `argnums` that do not fit; ValueError
    for arguments that are no tensors.
    """

    @named_after(func)
    def wrapper(*args, **kwargs):
        what = "grad_and_value(f)(*args)"
        with Level() as level:
            places = chosen(argnums, args)
            given, inputs = with_inputs(level, args, places)
            output = func(*given, **kwargs)
            aux = None
            if has_aux:
                output, aux = with_aux(what, output)
            if not isinstance(output, _C.Tensor):
                raise RuntimeError(f"{what}: the function has to give a tensor, and gave {type(output)}")
            if output.dim() != 0:
                raise RuntimeError(
                    f"{what}: the function has to give one number, and gave a tensor of {output.dim()} dimensions: use "
                    f"vjp or jacrev for functions of more than one result"
                )
            whole = level.whole(output)
        create = _C._is_differentiated(whole)
        ones = _C.ones_like(whole)
        with enable_grad():
            found = level.gradients((whole,), level.reached, (ones,), create, create)
            found = level.filled(found, level.reached)
        gradients = rebuilt([level.outside(g) for g in found], flattened(inputs)[1])
        gradients = gradients[0] if _is_index(argnums) else tuple(gradients)
        value = _C._outside(output)
        return gradients, ((value, _leaving(aux)) if has_aux else value)

    return wrapper


def grad(func, argnums=0, has_aux=False):
    """A function that gives the gradients of `func`, which returns one number as a tensor.

    `argnums` and errors are those of grad_and_value(). With `has_aux`, `func` returns (value, aux), and the result is
    (gradients, aux).
    """
    both = grad_and_value(func, argnums, has_aux)

    @named_after(func)
    def wrapper(*args, **kwargs):
        gradients, value = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return wrapper


def _only_tensors(function, outputs):
    leaves, nesting = flattened(outputs)
    if not leaves or leaves == [None]:
        raise RuntimeError(f"{function}: the function gives nothing to go back from: {outputs!r}")
    for y in leaves:
        if not isinstance(y, _C.Tensor):
            raise RuntimeError(f"{function}: all that the function gives has to be tensors, and {type(y)} is among it")
    return leaves, nesting


def vjp_of(func, primals, places, has_aux):
    """vjp() of the arguments at `places`; the function it gives returns a list with one item for each of them."""
    what = "vjp(f, *primals)"
    with Level() as level:
        given, inputs = with_inputs(level, primals, places)
        outputs = func(*given)
        aux = None
        if has_aux:
            outputs, aux = with_aux(what, outputs)
        leaves, nesting = _only_tensors(what, outputs)
        whole = [level.whole(y) for y in leaves]
        of_inputs = flattened(inputs)[1]

    def pull_back(cotangents, retain_graph=True, create_graph=None):
        vectors, shape = flattened(cotangents)
        if not alike(shape, nesting):
            raise RuntimeError(
                f"the cotangents are nested as {shape}, and what the function gives as {nesting}: they have to be alike"
            )
        for i, (v, y) in enumerate(zip(vectors, leaves)):
            if v.shape != y.shape:
                raise RuntimeError(f"cotangent {i} has the shape {v.shape}, and the result it belongs to {y.shape}")
        if create_graph is None:
            create_graph = _C._is_differentiated(*whole, *vectors)
        with enable_grad():
            found = level.gradients(whole, level.reached, [level.whole(v) for v in vectors], create_graph, retain_graph)
            found = level.filled(found, level.reached)
        return rebuilt([level.outside(g) for g in found], of_inputs)

    results = rebuilt([_C._outside(y) for y in leaves], nesting)
    return results, pull_back, _leaving(aux)


def vjp(func, *primals, has_aux=False):
    """(func(*primals), vjp_fn): vjp_fn(cotangents), nested as the outputs, gives their products with the Jacobian.

    vjp_fn returns a tuple with one item for each of the primals, nested as it is, and may be called again. With
    `has_aux`, `func` returns (outputs, aux), and the result is (outputs, vjp_fn, aux). RuntimeError for outputs that
    are no tensors and cotangents that do not fit them.
    """
    results, pull_back, aux = vjp_of(func, primals, range(len(primals)), has_aux)

    def vjp_fn(*cotangents, retain_graph=True, create_graph=None):
        given = cotangents[0] if len(cotangents) == 1 else cotangents
        return tuple(pull_back(given, retain_graph, create_graph))

    return (results, vjp_fn, aux) if has_aux else (results, vjp_fn)


class Linear:
    """A function at some primals, and the products of its Jacobian with tangents of the sizes of the primals."""

    def __init__(self, what, func, args, places, has_aux=False, around=None):
        self.what = what
        with Level(True) as level:
            given, inputs = with_inputs(level, args, places)
            self.level, self.of_inputs = level, flattened(inputs)[1]
            self.inputs = list(level.reached)
            outputs = around(func, given) if around else func(*given)
            self.aux = None
            if has_aux:
                outputs, self.aux = with_aux(what, outputs)
            self.outputs, self.nesting = _only_tensors(what, outputs)
            whole = [level.whole(y) for y in self.outputs]
            self.weights = [
                level.input(_C.zeros_like(y)) if (y.is_floating_point() or y.is_complex()) else None
                for y in self.outputs
            ]
            weights = [None if w is None else level.whole(w) for w in self.weights]
            self.whole_weights = weights
            asked = [(y, w) for y, w in zip(whole, weights) if w is not None]
            ys, ws = zip(*asked) if asked else ((), ())
            self.back = level.gradients(ys, self.inputs, ws, True)

    def along(self, tangents):
        """Products with these tangents, one for each input; with their gradients where these are asked for."""
        level = self.level
        whole = [level.whole(t) for t in tangents]
        used = [(b, t) for b, t in zip(self.back, whole) if b is not None]
        weights = [w for w in self.whole_weights if w is not None]
        create = _C._is_differentiated(*(b for b, _ in used), *tangents)
        with enable_grad():
            backs, vectors = zip(*used) if used else ((), ())
            found = iter(level.gradients(backs, weights, vectors, create) if weights else ())
            products = []
            for y, w in zip(self.outputs, self.whole_weights):
                g = None if w is None else next(found)
                products.append(_C.zeros_like(level.whole(y)) if g is None else g)
        return rebuilt([level.outside(g) for g in products], self.nesting)

    def value(self):
        """The outputs."""
        return rebuilt([_C._outside(y) for y in self.outputs], self.nesting)


def _check_primals(what, primals, tangents):
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{what}: primals is a tuple of the arguments that the function is called with")
    given, nesting = flattened(primals)
    vectors, shape = flattened(tangents)
    if not alike(shape, nesting):
        raise RuntimeError(f"{what}: primals are nested as {nesting} and tangents as {shape}: they have to be alike")
    if not given:
        raise RuntimeError(f"{what}: there is no tensor among the primals")
    for name, tensors in (("primals", given), ("tangents", vectors)):
        for x in tensors:
            if not isinstance(x, _C.Tensor):
                raise RuntimeError(f"{what}: {type(x)} is among the {name}, which are tensors only")
    for x, t in zip(given, vectors):
        if not (x.is_floating_point() or x.is_complex()):
            raise ValueError(f"a primal of dtype {x.dtype} has no derivatives: floating point ones have")
        if x.shape != t.shape:
            raise RuntimeError(f"a tangent of sizes {list(t.shape)} is given for a primal of sizes {list(x.shape)}")
    return vectors


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """(func(*primals), products of its Jacobian with `tangents`), both nested as the outputs.

    `primals` and `tangents` are tuples nested alike. With `strict` outputs that do not depend on the primals raise
    RuntimeError instead of having zeros. With `has_aux`, `func` returns (outputs, aux), and the result is
    (outputs, products, aux). RuntimeError and ValueError for what does not fit, as the messages say.
    """
    what = "jvp(f, primals, tangents)"
    vectors = _check_primals(what, primals, tangents)
    linear = Linear(what, func, primals, range(len(primals)), has_aux)
    if strict:
        for y in linear.outputs:
            if not y.requires_grad:
                raise RuntimeError(f"{what}: with strict=True every output has to depend on the primals")
    products = linear.along(vectors)
    if has_aux:
        return linear.value(), products, _leaving(linear.aux)
    return linear.value(), products


def linearize(func, *primals):
    """(func(*primals), jvp_fn): jvp_fn(*tangents) gives the products of the Jacobian there with tangents.

    The function is called once, whatever number of tangents follows. RuntimeError for tangents of other sizes or
    another nesting than the primals.
    """
    linear = Linear("linearize(f, *primals)", func, primals, range(len(primals)))
    leaves, nesting = flattened(primals)

    def jvp_fn(*tangents):
        vectors, shape = flattened(tangents)
        if not alike(shape, nesting):
            raise RuntimeError(f"tangents nested as {shape} are given for primals nested as {nesting}")
        for i, (t, x) in enumerate(zip(vectors, leaves)):
            if t.shape != x.shape:
                raise RuntimeError(f"tangent {i} has the shape {t.shape}, and its primal {x.shape}")
            if t.dtype != x.dtype:
                raise RuntimeError(f"tangent {i} has the dtype {t.dtype}, and its primal {x.dtype}")
        return linear.along(vectors)

    return linear.value(), jvp_fn
