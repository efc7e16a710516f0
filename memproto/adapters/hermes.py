"""
Hermes providers, of any version of their base class, as `MemoryProvider`.

The adapter adds nothing that a Hermes host would not do, and hides nothing that it would see:
wrong types come through as they are, errors with their own traceback. A Hermes provider cannot
declare; what `capabilities` says of it is read off its hooks.
"""

import uuid
from collections.abc import Mapping
from typing import Any

from memproto.adapters.hermes_base import HOOKS, NATIVE_CONFIG, RENAMED_CONFIG
from memproto.adapters.hermes_hooks import (
    Compression,
    Extensions,
    Session,
    bare_schemas,
    is_checkpoint,
)
from memproto.adapters.hermes_releases import NEWEST, RELEASES, Release
from memproto.adapters.members import found_without_running
from memproto.adapters.signatures import binding_of, call_with_accepted
from memproto.errors import NotAProvider
from memproto.operations import OPERATIONS
from memproto.types import SPEC_VERSION, Capabilities, Message

#: The hooks that a Hermes 0.19 host calls without looking whether they exist.
HOST_CALLS = (
    "name",
    "is_available",
    "initialize",
    "system_prompt_block",
    "get_tool_schemas",
    "handle_tool_call",
    "on_turn_start",
    "prefetch",
    "sync_turn",
    "queue_prefetch",
    "on_memory_write",
    "on_delegation",
    "on_pre_compress",
    "on_session_switch",
    "on_session_end",
    "backup_paths",
    "shutdown",
)

#: Hooks without which it takes no provider: abstract in its base class.
HOST_NEEDS = ("name", "is_available", "initialize", "get_tool_schemas")

_ABSENT = object()


def to_hermes(provider: Any, *, name: str = "") -> Any:
    """
    Returns the native `provider`, an instance, as a provider of Hermes Agent.

    It is a subclass of the installed hermes-agent's `MemoryProvider`, and one in shape where none
    is installed. A provider with coroutine hooks is driven by a loop of its own; one that came out
    of `from_hermes` is given back.

    Args:
        provider: With the nine members.
        name: The name by which the host is to know it; its own name by default. Hermes takes
            "builtin" for its own memory.

    Raises:
        NotAProvider: A class, or an object without all members of `MemoryProvider`.
        InvalidLabel: The name cannot be that of a directory and of a section.

    """
    if isinstance(provider, HermesAdapter):
        return provider.wrapped
    from memproto.adapters.hermes_export import exported  # only exports need it, and no run

    return exported(provider, name=name)


def is_hermes(obj: object) -> bool:
    """
    True if `obj`, a class or an instance, speaks the Hermes dialect.

    Decided by shape, never by inheritance, and without running any property of `obj`; true for
    the abstract base class too. A class need not show a `name`, which may be set on its instances.
    A proxy shows what its `__getattr__` answers.
    """
    if not isinstance(obj, type) and is_hermes(type(obj)):
        return _shows(obj, "name")
    if _shows(obj, "enrich_turn") or _shows(obj, "on_turn_complete"):
        return False
    if not (_shows(obj, "initialize") and _shows(obj, "is_available")):
        return False
    if not (isinstance(obj, type) or _shows(obj, "name")):
        return False
    if _shows(obj, "prefetch") or _shows(obj, "sync_turn"):
        return True
    return _shows(obj, "get_tool_schemas") and not _shows(obj, "capabilities")


def from_hermes(provider: Any, *, release: Release = RELEASES[NEWEST]) -> "HermesAdapter":
    """
    Returns the Hermes `provider`, an instance, as a `MemoryProvider`.

    Each hook is called, on the caller's thread, with the arguments that a host of `release` has
    for it and that its own signature accepts. A hook that the provider lacks is a no-op and listed
    in `missing_hooks`.

    Raises:
        NotAProvider: A class was given, or `initialize` or `is_available` is missing.

    """
    if isinstance(provider, type):
        raise NotAProvider(f"{provider.__qualname__} is a class; an instance of it is expected")
    lacks = [hook for hook in ("initialize", "is_available") if not _has(provider, hook)]
    if lacks:
        raise NotAProvider(f"{type(provider).__qualname__} lacks {' and '.join(lacks)}")
    return HermesAdapter(provider, release)


class HermesAdapter:
    """
    A Hermes provider in the native binding.

    Beside the nine members it has those extension hooks, and only those, that the provider has.
    Built by `from_hermes`. Adds no locking: threads are the host's and the provider's matter.

    Attributes:
        keeps_session_key: True: hooks get the key that `on_session_switch` told last, so that a
            registry tells of each switch, whatever `capabilities` names.

    """

    keeps_session_key = True

    def __init__(self, provider: Any, release: Release = RELEASES[NEWEST]) -> None:
        self._session = Session(provider, release)
        self._compression = Compression(self._session)
        extensions = Extensions(self._session, self._compression)
        # On the instance, so that `hasattr` and the runtime protocols tell the truth; bound to
        # an object that does not refer back, so that no reference cycle keeps the provider.
        for row in OPERATIONS.values():
            if row.extension and row.name in HOOKS and _has(provider, HOOKS[row.name]):
                vars(self)[row.native] = getattr(extensions, row.native)
        if _has(provider, "post_setup"):
            vars(self)["post_setup"] = extensions.post_setup

    def __repr__(self) -> str:
        return f"from_hermes({self.wrapped!r})"

    @property
    def wrapped(self) -> Any:
        """The provider itself."""
        return self._session.provider

    @property
    def release(self) -> Release:
        """The release of the host whose calls it makes."""
        return self._session.release

    @property
    def takes_authors(self) -> bool:
        """True if its hooks are told who wrote a turn, and whether that was a bot."""
        return self._session.takes_authors()

    @property
    def missing_hooks(self) -> tuple[str, ...]:
        """The hooks of `HOST_CALLS` that the provider lacks; no-ops here, errors in Hermes."""
        return tuple(h for h in HOST_CALLS if h != "name" and not _has(self.wrapped, h))

    @property
    def inherited_hooks(self) -> tuple[str, ...]:
        """The hooks of `HOST_CALLS` that are those of its host's base class: they do nothing."""
        has = (hook for hook in HOST_CALLS if hook != "name" and _has(self.wrapped, hook))
        return tuple(hook for hook in has if not owns(self.wrapped, hook))

    @property
    def name(self) -> str:
        """The provider's own name, unchanged."""
        name: str = self.wrapped.name
        return name

    def is_available(self) -> bool:
        """Returns the provider's own answer, unchanged."""
        answer: bool = self._session.call("is_available")
        return answer

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        """
        Opens the session: `initialize(session_key, hermes_home=..., platform=..., ...)`.

        `hermes_home` is `host_home`, else `home`; `agent_context` is "primary" unless given;
        `workspace` becomes `agent_workspace`. Keys that only the native binding knows stay
        behind, keys that nobody knows go along where there is a `**kwargs`; a None is no value.
        """
        keywords = _initialize_keywords(config)
        self._session.session_id = session_key
        self._session.platform = keywords["platform"]
        self._session.user_id = str(keywords.get("user_id") or "")
        self._session.call("initialize", (session_key,), keywords)

    def shutdown(self) -> None:
        """Closes the provider; every call reaches it."""
        self._session.call("shutdown")

    def capabilities(self) -> Capabilities:
        """
        Declarations that the hooks show: `tool_names`, `extensions`, `spec_version`; no `stores`.

        An extension is listed where the provider has all its hooks and one of them is its own,
        not inherited from the Hermes base class; `tools` where there is a tool; `checkpoint` where
        `pre_compress_checkpoint_api_version` is 2 or more.
        """
        schemas = bare_schemas(self._session.call("get_tool_schemas"))
        tool_names = [_tool_name(s) for s in schemas] if isinstance(schemas, list) else []
        names = [name for name in tool_names if name]
        release = self._session.release
        extensions = extensions_shown(self.wrapped, release, has_tools=bool(names))
        return {"tool_names": names, "extensions": extensions, "spec_version": SPEC_VERSION}

    def enrich_turn(self, user_message: str, messages: list[Message]) -> str | None:
        """Returns what `prefetch` recalls, None for "" and any other type as it is."""
        keywords = {"session_id": self._session.session_id}
        recalled: str | None = self._session.call("prefetch", (user_message,), keywords)
        return None if isinstance(recalled, str) and not recalled else recalled

    def on_memory_write(
        self,
        action: str,
        target: str,
        content: str | None,
        old_text: str | None = None,
    ) -> None:
        """
        Mirrors the write; `old_text` travels in `metadata` where the hook takes one.

        A host of a release that mirrors no removals tells of none, and of no old text.

        A `content` of None becomes "", since the Hermes base class promises str.
        """
        hook = self._session.hook("on_memory_write")
        is_told = action != "remove" or self._session.release.mirrors_removals
        if hook is None or not is_told:
            return
        positional = (action, target, "" if content is None else content)
        metadata = self._session.write_metadata(old_text)
        binding = binding_of(hook)
        if not binding.takes("metadata") and len(binding.positions) > len(positional):
            hook(*positional, metadata)  # the fourth position under another name
        else:
            call_with_accepted(hook, positional, {"metadata": metadata})

    def on_turn_complete(
        self,
        user_message: str,
        assistant_response: str,
        *,
        author: Mapping[str, Any] | None = None,
    ) -> None:
        """
        Records the turn through `sync_turn`.

        A hook that takes them gets the session's id, the two messages, and by name a `turn_id`
        that is new for each call. Of a release that names authors, it gets the `turn_author`:
        `author`, an object of `id`, `name` and `is_bot`, or the user of the session, if there is
        one.
        """
        messages = [
            {"role": "user", "content": user_message},
            {"role": "assistant", "content": assistant_response},
        ]
        keywords: dict[str, Any] = {"session_id": self._session.session_id}
        if self._session.release.hands_messages:
            keywords["messages"] = messages
        named: dict[str, Any] = {"turn_id": uuid.uuid4().hex, "turn_author": None}
        if (told := self._session.author(author)) is not None:
            keywords["turn_author"] = named["turn_author"] = told
        self._session.call("sync_turn", (user_message, assistant_response), keywords, named)

    def on_compress(self, messages: list[Message], compression_count: int) -> None:
        """
        Hands over the messages through `on_pre_compress`; `compress_notes` gives its text.

        Both hooks of one compression, in either order, reach the provider once.
        """
        self._compression.take("on_compress", messages)


def _initialize_keywords(config: Mapping[Any, Any]) -> dict[str, Any]:
    keywords = {
        RENAMED_CONFIG.get(key, key): value
        for key, value in config.items()
        if isinstance(key, str) and key not in NATIVE_CONFIG and value is not None
    }
    keywords["hermes_home"] = str(config.get("host_home") or config["home"])
    keywords.setdefault("platform", "cli")
    keywords.setdefault("agent_context", "primary")
    return keywords


def _tool_name(schema: Any) -> str:
    name = schema.get("name") if isinstance(schema, dict) else None
    return name if isinstance(name, str) else ""


def extensions_shown(
    provider: Any, release: Release = RELEASES[NEWEST], *, has_tools: bool = False
) -> list[str]:
    """The extensions that the hooks of a Hermes `provider` show to a host; nothing is called."""
    hooks: dict[str, list[str]] = {}
    for row in OPERATIONS.values():
        if row.extension and row.name in HOOKS:
            hooks.setdefault(row.extension, []).append(HOOKS[row.name])
    hooks.pop("tools")
    shown = ["tools"] if has_tools else []
    if is_checkpoint(provider, release) and _serves(provider, ["on_pre_compress"]):
        shown.append("checkpoint")
    return shown + [name for name, needed in hooks.items() if _serves(provider, needed)]


def _serves(provider: Any, hooks: list[str]) -> bool:
    return all(_has(provider, hook) for hook in hooks) and any(owns(provider, h) for h in hooks)


def owns(provider: Any, hook: str) -> bool:
    """True if it has a hook, from elsewhere than the Hermes base class or a stand-in for it."""
    kind = type(provider)
    if hook in getattr(provider, "__dict__", ()):
        return True
    owner = next((base for base in kind.__mro__ if hook in vars(base)), None)
    if owner is None:
        found = getattr(provider, hook, None)
        if found is None:
            return False
        behind = getattr(found, "__self__", None)
        return behind is None or behind is provider or owns(behind, hook)
    return owner is kind or owner.__name__ != "MemoryProvider"


def _has(provider: Any, hook: str) -> bool:
    return callable(getattr(provider, hook, None))


def _shows(obj: object, member: str) -> bool:
    return found_without_running(obj, member) is not None
