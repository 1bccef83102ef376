"""A class takes over a function of the module re as its method."""

CODE = "GB0008"
import re

import torch


def run(compile):
    class Word(str):
        replaced = re.sub

    @compile
    def shifted(x):
        return x + len(Word("a+").replaced("b", "caa"))

    return shifted(torch.ones(2))


def fix(compile):
    class Word(str):
        def replaced(self, new, text):
            return text + new

    @compile
    def shifted(x):
        return x + len(Word("a").replaced("b", "caa"))

    return shifted(torch.ones(2))
