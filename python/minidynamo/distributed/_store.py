"""HashStore: what the processes of a group tell each other, in the memory of the one process there is."""

import threading


class HashStore:
    """Keys and their values, which are bytes."""

    def __init__(self):
        self._values, self._changed, self.timeout = {}, threading.Condition(), None

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
