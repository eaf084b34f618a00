"""Finding and parsing kernels, their launches and host functions; places in a text."""

from tilewright.source.model import Module
from tilewright.source.parse import parse_module

__all__ = ["Module", "parse_module"]
