"""Stores: what the processes of a group tell each other, in the memory of the one process there is."""

import threading


class Store:
    """Base of stores."""


class HashStore(Store):
    """Keys and their values, which are bytes."""

    def __init__(self):
        self._values, self._changed, self.timeout = {}, threading.Condition(threading.RLock()), None

    def set(self, key, value):
        """The key has this value from now on; str becomes bytes."""
        with self._changed:
            self._values[key] = value.encode() if isinstance(value, str) else bytes(value)
            self._changed.notify_all()

    def get(self, key):
        """The value, once there is one."""
        self.wait([key])
        return self._values[key]

    def add(self, key, amount):
        """Adds to a number, which begins with 0: the sum."""
        with self._changed:
            total = int(self._values.get(key, b"0")) + amount
            self._values[key] = str(total).encode()
            self._changed.notify_all()
        return total

    def check(self, keys):
        """Whether all keys have values."""
        return all(key in self._values for key in keys)

    def wait(self, keys, timeout=None):
        """Waits for the keys. DistStoreError where the time, a timedelta, is over."""
        from ._group import DistStoreError

        limit = timeout or self.timeout
        with self._changed:
            if not self._changed.wait_for(lambda: self.check(keys), limit.total_seconds() if limit else None):
                raise DistStoreError(f"no value came for {', '.join(keys)} in {limit}")

    def delete_key(self, key):
        """Whether there was one."""
        return self._values.pop(key, None) is not None

    def num_keys(self):
        """How many keys have values."""
        return len(self._values)

    def set_timeout(self, timeout):
        """How long get() and wait() wait: a timedelta."""
        self.timeout = timeout

    def compare_set(self, key, expected_value, desired_value):
        """The key has the second value if it had the first, or had none and the first is empty: its value then."""
        expected = expected_value.encode() if isinstance(expected_value, str) else bytes(expected_value)
        with self._changed:
            before = self._values.get(key)
            if before == expected or (before is None and not expected):
                self.set(key, desired_value)
            elif before is None:
                return expected
            return self._values[key]

    def append(self, key, value):
        """Adds bytes to the end of the value."""
        with self._changed:
            self.set(key, self._values.get(key, b"") + (value.encode() if isinstance(value, str) else bytes(value)))

    def multi_get(self, keys):
        """The values of several keys."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys, values):
        """Sets several keys."""
        for key, value in zip(keys, values):
            self.set(key, value)


class TCPStore(HashStore):
    """The store of one process, which nobody else connects to. NotImplementedError for more processes, or clients."""

    def __init__(self, host_name, port=0, world_size=None, is_master=False, timeout=None, **others):
        super().__init__()
        if world_size not in (None, 1) or not is_master:
            raise NotImplementedError("TCPStore: there is one process, which is the master")
        self.host, self.port, self.timeout = host_name, port, timeout


class FileStore(HashStore):
    """The store of one process. NotImplementedError for more."""

    def __init__(self, file_name, world_size=-1):
        super().__init__()
        if world_size > 1:
            raise NotImplementedError("FileStore: there is one process")
        self.path = file_name


class PrefixStore(Store):
    """Another store, whose keys begin with `prefix/`."""

    def __init__(self, prefix, store):
        self.prefix, self.underlying_store = prefix, store

    def _keys(self, keys):
        return [f"{self.prefix}/{key}" for key in keys]

    def check(self, keys):
        return self.underlying_store.check(self._keys(keys))

    def wait(self, keys, timeout=None):
        self.underlying_store.wait(self._keys(keys), timeout)

    def num_keys(self):
        return self.underlying_store.num_keys()

    def set_timeout(self, timeout):
        self.underlying_store.set_timeout(timeout)

    @property
    def timeout(self):
        return self.underlying_store.timeout


def _with_prefix(name):
    def method(self, key, *values):
        return getattr(self.underlying_store, name)(f"{self.prefix}/{key}", *values)

    method.__name__ = name
    method.__doc__ = getattr(HashStore, name).__doc__
    return method


for _name in ("set", "get", "add", "delete_key", "compare_set", "append"):
    setattr(PrefixStore, _name, _with_prefix(_name))
