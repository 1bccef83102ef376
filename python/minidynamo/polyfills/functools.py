"""functools: caches and keys. What is Python there already is traced as it is."""

import functools
import reprlib
import types
import weakref

from . import bridge

KEY = type(functools.cmp_to_key(max))
SEPARATOR = "keyword arguments follow"


class cache_wrapper:
    """A dictionary in the order of last use; counts and order of calls are those of the C implementation."""

    def __init__(self, user_function, maxsize, typed, cache_info_type):
        self.function = user_function
        self.maxsize = maxsize
        self.typed = typed
        self.held = {}
        self.hits = 0
        self.misses = 0

    def __call__(self, /, *args, **kwds):
        if self.maxsize == 0:
            self.misses += 1
            return self.function(*args, **kwds)
        key = _key(args, kwds, self.typed)
        held = self.held
        if key in held:
            self.hits += 1
            value = held[key]
            if self.maxsize is not None:
                del held[key]
                held[key] = value
            return value
        self.misses += 1
        value = self.function(*args, **kwds)
        if key in held:  # the call has filled it
            if self.maxsize is None:
                held[key] = value
            return value
        if self.maxsize is not None and len(held) >= self.maxsize:
            del held[next(iter(held))]
        held[key] = value
        return value

    def cache_info(self):
        return functools._CacheInfo(self.hits, self.misses, self.maxsize, len(self.held))

    def cache_clear(self):
        self.hits = self.misses = 0
        self.held.clear()

    def cache_parameters(self):
        return {"maxsize": self.maxsize, "typed": self.typed}

    def __getattr__(self, name):
        if name == "__wrapped__":
            return self.function
        if name == "cache_parameters":
            return self.cache_parameters
        return getattr(self.function, name)

    def rebuilt(self):
        if self.hits or self.misses:
            bridge.refuse("functools.lru_cache", "a cache that has been used is handed on")
        return _decorated, (self.maxsize, self.typed, self.function)


def _decorated(maxsize, typed, function):
    return functools.lru_cache(maxsize, typed)(function)


def _key(args, kwds, typed):
    if not kwds and not typed and len(args) == 1 and (type(args[0]) is int or type(args[0]) is str):
        return args[0]
    key = args
    if kwds:
        key += (SEPARATOR,)
        for item in kwds.items():
            key += item
    if typed:
        key += tuple([type(value) for value in args]) + tuple([type(value) for value in kwds.values()])
    return key if len(key) != 1 else (key,)


def lru_cache(maxsize=128, typed=False):
    if isinstance(maxsize, int):
        size = max(maxsize, 0)
    elif callable(maxsize) and isinstance(typed, bool):
        return functools._lru_cache_wrapper(maxsize, 128, typed, functools._CacheInfo)
    elif maxsize is None:
        size = None
    else:
        raise TypeError("Expected first argument to be an integer, a callable, or None")

    def decorating_function(user_function):
        return functools._lru_cache_wrapper(user_function, size, typed, functools._CacheInfo)

    return decorating_function


def cache(user_function, /):
    return functools._lru_cache_wrapper(user_function, None, False, functools._CacheInfo)


class comparison_key:
    """cmp_to_key(mycmp), and what that makes of an object."""

    def __init__(self, mycmp, held=()):
        self.mycmp = mycmp
        self.held = held

    def __call__(self, obj):
        return KEY(self.mycmp, (obj,))

    @property
    def obj(self):
        return self.held[0]

    def __lt__(self, other):
        return self.mycmp(self.held[0], other.obj) < 0

    def __le__(self, other):
        return self.mycmp(self.held[0], other.obj) <= 0

    def __eq__(self, other):
        return self.mycmp(self.held[0], other.obj) == 0

    def __ne__(self, other):
        return self.mycmp(self.held[0], other.obj) != 0

    def __gt__(self, other):
        return self.mycmp(self.held[0], other.obj) > 0

    def __ge__(self, other):
        return self.mycmp(self.held[0], other.obj) >= 0

    def rebuilt(self):
        key = functools.cmp_to_key
        return (functools.cmp_to_key(self.mycmp), self.held) if self.held else (key, (self.mycmp,))


def cmp_to_key(mycmp):
    return KEY(mycmp)


def dispatch(registry, dispatch_cache, cls):
    """What functools.singledispatch(function).dispatch(cls) finds, with no cache."""
    if type(dispatch_cache) is not weakref.WeakKeyDictionary:
        bridge.refuse("functools.singledispatch", "a cache that the program has put in place of the library's")
    if cls in registry:
        return registry[cls]
    return bridge.find_implementation(registry, cls)


@functools.singledispatch
def _dispatched(value):
    pass


def read_cached_property(self, instance, owner=None):
    """functools.cached_property.__get__, which holds no lock any more."""
    if instance is None:
        return self
    name = self.attrname
    if name is None:
        raise TypeError("Cannot use cached_property instance without calling __set_name__ on it.")
    if not hasattr(instance, "__dict__"):
        bridge.refuse("functools.cached_property", "an object without __dict__")
    value = self.func(instance)
    object.__setattr__(instance, name, value)
    return value


def function_get(self, instance, owner=None, /):
    return self if instance is None else types.MethodType(self, instance)


def descriptor_get(self, instance, owner=None, /):
    """Of methods of types written in C."""
    if instance is None:
        if owner is None:
            raise TypeError("__get__(None, None) is invalid")
        return self
    if not isinstance(instance, self.__objclass__):
        raise TypeError(
            f"descriptor '{self.__name__}' for '{self.__objclass__.__name__}' objects "
            f"doesn't apply to a '{type(instance).__name__}' object"
        )
    return types.MethodType(self, instance)


def method_get(self, instance, owner=None, /):
    return self


def not_recursive(user_function, self):
    """What reprlib.recursive_repr makes of a __repr__: one that comes upon itself again never ends here, and is left
    to plain Python."""
    return user_function(self)


@reprlib.recursive_repr()
def _guarded(self):
    pass


TABLE = {
    id(_guarded.__code__): (not_recursive, "user_function"),
    functools.cached_property.__get__: read_cached_property,
    (types.FunctionType, "__get__"): function_get,
    (types.WrapperDescriptorType, "__get__"): descriptor_get,
    (types.MethodDescriptorType, "__get__"): descriptor_get,
    id(_dispatched.dispatch.__code__): (dispatch, "registry", "dispatch_cache"),
    functools._lru_cache_wrapper: cache_wrapper,
    functools.lru_cache: lru_cache,
    functools.cache: cache,
    KEY: comparison_key,
    functools.cmp_to_key: cmp_to_key,
}
if hasattr(types.MethodType, "__get__"):  # not in CPython 3.12.0 and 3.12.1
    TABLE[types.MethodType, "__get__"] = method_get
