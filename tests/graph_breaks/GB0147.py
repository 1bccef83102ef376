"""Constructing a timedelta, a C type the tracer does not know how to call."""

CODE = "GB0147"
from datetime import timedelta

import torch


def run(compile):
    @compile
    def wait_scaled(x):
        pause = timedelta(minutes=2)
        return x * pause.seconds

    return wait_scaled(torch.ones(2))


def fix(compile):
    @compile
    def wait_scaled(x):
        pause_seconds = 2 * 60
        return x * pause_seconds

    return wait_scaled(torch.ones(2))
