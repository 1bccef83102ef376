"""Locks of state that all threads share."""

import os
import threading


def process_lock():
    """A lock that a signal handler or finaliser of the thread that holds it may take again, and that is open in the
    child of a fork, where the thread that held it does not exist."""
    lock = threading.RLock()
    os.register_at_fork(after_in_child=lock._at_fork_reinit)
    return lock
