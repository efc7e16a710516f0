"""The reference registry: threads, and a deadline on every call to a provider that has one."""

from memproto.registry.answers import Answer, CompressRefused
from memproto.registry.policy import Policy
from memproto.registry.registry import MemoryProviderRegistry

__all__ = ["Answer", "CompressRefused", "MemoryProviderRegistry", "Policy"]
