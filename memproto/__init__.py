"""
memproto: the contract between an AI agent and its memory, and the runtime that keeps it.

Importing this package loads nothing else; every name below is loaded at its first use.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memproto._version import __version__ as __version__
    from memproto.deadlines import Clock as Clock
    from memproto.deadlines import Deadlines as Deadlines
    from memproto.deadlines import Limits as Limits
    from memproto.deadlines import MonotonicClock as MonotonicClock
    from memproto.errors import DuplicateProvider as DuplicateProvider
    from memproto.errors import InvalidLabel as InvalidLabel
    from memproto.errors import InvalidNonce as InvalidNonce
    from memproto.errors import MemprotoError as MemprotoError
    from memproto.errors import Misconfigured as Misconfigured
    from memproto.errors import NotAProvider as NotAProvider
    from memproto.errors import ProviderError as ProviderError
    from memproto.errors import RegistryClosed as RegistryClosed
    from memproto.errors import Rejected as Rejected
    from memproto.errors import SecondExternalProvider as SecondExternalProvider
    from memproto.errors import TextExpected as TextExpected
    from memproto.errors import TooLarge as TooLarge
    from memproto.errors import Unavailable as Unavailable
    from memproto.errors import WriteRefused as WriteRefused
    from memproto.fence import build_memory_context_block as build_memory_context_block
    from memproto.fence import inject_memory_context as inject_memory_context
    from memproto.fence import parse_memory_context as parse_memory_context
    from memproto.fence import sanitize_context as sanitize_context
    from memproto.fence.scrubber import StreamingContextScrubber as StreamingContextScrubber
    from memproto.provider import AsyncMemoryProvider as AsyncMemoryProvider
    from memproto.provider import MemoryProvider as MemoryProvider
    from memproto.registry import Answer as Answer
    from memproto.registry import CompressRefused as CompressRefused
    from memproto.registry import MemoryProviderRegistry as MemoryProviderRegistry
    from memproto.registry import Policy as Policy
    from memproto.registry.aio import (
        AsyncMemoryProviderRegistry as AsyncMemoryProviderRegistry,
    )
    from memproto.types import Event as Event

_HOME = {
    "__version__": "_version",
    "Answer": "registry",
    "AsyncMemoryProvider": "provider",
    "AsyncMemoryProviderRegistry": "registry.aio",
    "Clock": "deadlines",
    "CompressRefused": "registry",
    "Deadlines": "deadlines",
    "DuplicateProvider": "errors",
    "Event": "types",
    "InvalidLabel": "errors",
    "InvalidNonce": "errors",
    "MemoryProvider": "provider",
    "MemoryProviderRegistry": "registry",
    "MemprotoError": "errors",
    "Misconfigured": "errors",
    "Limits": "deadlines",
    "MonotonicClock": "deadlines",
    "NotAProvider": "errors",
    "Policy": "registry",
    "ProviderError": "errors",
    "RegistryClosed": "errors",
    "Rejected": "errors",
    "SecondExternalProvider": "errors",
    "StreamingContextScrubber": "fence.scrubber",
    "TextExpected": "errors",
    "TooLarge": "errors",
    "Unavailable": "errors",
    "WriteRefused": "errors",
    "build_memory_context_block": "fence",
    "inject_memory_context": "fence",
    "parse_memory_context": "fence",
    "sanitize_context": "fence",
}

__all__ = ["__version__", *_HOME]  # noqa: PLE0604 - the names come from the table, which holds str only


def __getattr__(name: str) -> Any:
    """Load a public name at its first use."""
    if name not in _HOME:
        raise AttributeError(f"module 'memproto' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"memproto.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted(__all__)
