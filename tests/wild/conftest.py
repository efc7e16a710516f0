"""The kit's wheel, for the environments of this folder."""

from tests.wild.environments import kit_wheel

__all__ = ["kit_wheel"]  # a fixture
