"""
The kinds of switch that a host tells a provider, and who has to take them.

Used by the checks of the chapters on sessions and on prepared recall.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from memproto.testing.conditions import ExtensionHook, ExtensionOrHook
from memproto.testing.facts import Fact
from memproto.testing.provider import routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Subject
from memproto.testing.scenarios.tenants import Tenant

EXTENSION = "sessions"

#: A provider that cannot declare, and has one of the two hooks alone, serves the one.
ENDS = ExtensionHook(EXTENSION, "end", "switch")
SWITCHES = ExtensionHook(EXTENSION, "switch", "end")

#: A host switches the instance at all; of one that cannot declare it goes by the hook alone.
IS_SWITCHED = ExtensionOrHook(EXTENSION, "switch")


@dataclasses.dataclass(frozen=True)
class Switch:
    """
    One kind of switch, as a host tells it.

    Attributes:
        called: Its name in a message.
        has_parent: True if the session that is left is told.
        reset: True if the conversation is another one.
        rewound: True if the last turns were undone.

    """

    called: str
    has_parent: bool = False
    reset: bool = False
    rewound: bool = False

    def make(self, subject: Subject, old: str, new: str, **more: Any) -> None:
        """Switch the instance; an error that reports something is no failure."""
        told: Mapping[str, Any] = {
            "parent_session_id": old if self.has_parent else "",
            "reset": self.reset,
            "rewound": self.rewound,
            **more,
        }
        routes.tolerant(lambda: subject.switch(new, **told))


NEW = Switch("a new conversation", reset=True)
RESUMED = Switch("an old conversation that is resumed", has_parent=True)
BRANCH = Switch("a branch", has_parent=True)
COMPRESSED = Switch("the same conversation after a compression", has_parent=True)
REWIND = Switch("a rewind", rewound=True)

#: Those that change the session key.
TO_ANOTHER = (NEW, BRANCH, COMPRESSED, RESUMED)


def transcript(facts: list[Fact]) -> list[dict[str, Any]]:
    """The messages of the turns by which the facts were stored."""
    return [
        {"role": role, "content": text}
        for fact in facts
        for role, text in (("user", fact.text), ("assistant", routes.reply_to(fact)))
    ]


def go(run: Run, subject: Subject, old: Tenant, new: Tenant, kind: Switch = NEW) -> None:
    """Switch from the session of one tenant to that of another; what is stored now is the new's."""
    kind.make(subject, old.session, new.session)
    run.freshness.config = {**run.freshness.config, "session_key": new.session}
