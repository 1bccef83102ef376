"""sys.modules maps a name to an ordinary object and the compiled function imports it."""

CODE = "GB0022"
import sys

import torch


class Settings:
    rate = 0.5


def run(compile):
    sys.modules["app_settings"] = Settings()

    @compile
    def scale(x):
        import app_settings

        return x * app_settings.rate

    try:
        return scale(torch.tensor([2.0, 4.0]))
    finally:
        del sys.modules["app_settings"]


def fix(compile):
    settings = Settings()

    @compile
    def scale(x):
        return x * settings.rate

    return scale(torch.tensor([2.0, 4.0]))
