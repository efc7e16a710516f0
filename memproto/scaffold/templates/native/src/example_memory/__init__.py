"""The memory provider example-memory."""

from .provider import ExampleMemory

__all__ = ["ExampleMemory"]
