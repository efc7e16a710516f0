"""The methods of the wire: the operations, with the hooks and the arguments that they stand for."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from memproto.operations import OPERATIONS

#: The version of the protocol that this package speaks.
VERSION = 1


@dataclasses.dataclass(frozen=True, slots=True)
class Method:
    """
    A method, and the call of a hook that it stands for.

    Attributes:
        name: The method: the name of the operation.
        hook: The native hook.
        given: The arguments that go by position, in their order.
        keywords: The arguments that go by keyword, with the values of absent ones.
        defaults: The values of positional arguments that may be absent.
        takes_more: True if further keywords go under `extra`.

    """

    name: str
    hook: str
    given: tuple[str, ...] = ()
    keywords: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    takes_more: bool = False

    def params(self, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
        """
        The params of a call of the hook; an argument of `given` may have been passed by keyword.

        Raises:
            TypeError: The call has too many arguments, or lacks one, or has one that is unknown.

        """
        if len(arguments) > len(self.given):
            raise TypeError(f"{self.hook}() takes {len(self.given)} arguments")
        found = dict(zip(self.given, arguments, strict=False))
        more = dict(keywords)
        for name in self.given[len(arguments) :]:
            if name in more:
                found[name] = more.pop(name)
            elif name in self.defaults:
                found[name] = self.defaults[name]
            else:
                raise TypeError(f"{self.hook}() lacks the argument {name!r}")
        found |= {name: more.pop(name, default) for name, default in self.keywords.items()}
        if self.takes_more:
            found["extra"] = more
        elif more:
            raise TypeError(f"{self.hook}() takes no argument {min(more)!r}")
        return found

    def call(self, params: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """
        The arguments and keywords of the hook by the params of a request.

        Raises:
            TypeError: An argument is missing, or `extra` is no object.

        """
        given = []
        for name in self.given:
            if name not in params and name not in self.defaults:
                raise TypeError(f"{self.name} lacks the argument {name!r}")
            given.append(params.get(name, self.defaults.get(name)))
        keywords = {name: params.get(name, default) for name, default in self.keywords.items()}
        if self.takes_more:
            extra = params.get("extra", {})
            if not isinstance(extra, dict):
                raise TypeError(f"extra of {self.name} is no object")
            keywords = {**extra, **keywords}
        return given, keywords


def _method(name: str, *given: str, more: bool = False, **keywords: Any) -> Method:
    defaults = keywords.pop("defaults", {})
    return Method(name, OPERATIONS[name].native, given, keywords, defaults, more)


_TABLE = (
    _method("available"),
    _method("open", "session_key", "config"),
    _method("declare"),
    _method("recall", "user_message", "messages", defaults={"messages": ()}),
    _method("record", "user_message", "assistant_response"),
    _method("mirror", "action", "target", "content", "old_text", defaults={"old_text": None}),
    _method("compress", "messages", "compression_count"),
    _method("close"),
    _method("tools"),
    _method("call_tool", "tool_name", "args", more=True),
    _method("prewarm", "query", session_id=""),
    _method("turn_start", "turn_number", "message", more=True),
    _method("end", "messages"),
    _method(
        "switch", "new_session_id", parent_session_id="", reset=False, rewound=False, more=True
    ),
    _method("delegation", "task", "result", child_session_id="", more=True),
    _method("config_schema"),
    _method("save_config", "values", "home"),
    Method("post_setup", "post_setup", ("home", "config")),
    _method("backup"),
    _method("prompt"),
    _method("status"),
    _method("unavailable_reason"),
    _method("compress_notes", "messages"),
    _method("record_turn", "turn"),
    _method("items", "request"),
    _method("export", "scope"),
    _method("forget", "scope"),
)

#: Name to method, without `initialize` and `ping`, which are the protocol's own.
METHODS: dict[str, Method] = {row.name: row for row in _TABLE}

#: Native hook to method.
BY_HOOK: dict[str, Method] = {row.hook: row for row in _TABLE}

#: The methods that every server answers.
CORE = tuple(row.name for row in OPERATIONS.values() if not row.extension and row.name != "name")

#: The methods of which a client sends the next when the one before was answered.
WRITES = frozenset({"record", "mirror", "record_turn", "end", "switch", "delegation"})

#: The methods that need no session, and come after the greeting.
BEFORE_OPEN = frozenset(
    {
        *("available", "open", "close", "config_schema", "save_config", "post_setup", "backup"),
        "unavailable_reason",
    }
)
