"""x y z"""
from . import module
