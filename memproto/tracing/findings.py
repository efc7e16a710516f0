"""What a trace shows that a rule forbids: where, which rule, and what to do about it."""

import dataclasses

from memproto import spec


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """
    A sentence of the specification, as a finding needs it.

    Attributes:
        id: The requirement's id, or that of the chapter's section where it has none.
        side: Who has to hold it.
        text: The sentence.
        fix: What to change.
        clause: Where it stands.

    """

    id: str
    side: spec.Side
    text: str
    fix: str
    clause: str


#: What the chapters say of hosts in sentences without a number, by a word of ours.
_UNNUMBERED = {
    "order": Rule(
        "25-lifecycle",
        "host",
        "A call is made only where the life of an instance allows it, and beside no other of its "
        "lane.",
        "Call the hooks of an instance in the order of lifecycle.toml, one of a lane at a time.",
        "spec/v1/25-lifecycle.md#states",
    ),
    "extension": Rule(
        "25-lifecycle",
        "host",
        "An operation of an extension is called only where the extension is served.",
        "Look into `extensions` of what `capabilities` declared before the hook is called.",
        "spec/v1/25-lifecycle.md#states",
    ),
    "contexts": Rule(
        "80-hosts",
        "host",
        "In an `agent_context` that `protocol.contexts` does not name a host calls no write hook.",
        "Leave out the write hooks in sessions of subagents, jobs and flushes.",
        "spec/v1/80-hosts.md#contexts-and-places",
    ),
    "end": Rule(
        "80-hosts",
        "host",
        "A session is ended once, and before a switch with `reset` and the exit.",
        "Keep one flag for each session; queue `on_session_end` in front of the switch.",
        "spec/v1/80-hosts.md#sessions",
    ),
    "turn_id": Rule(
        "74-record",
        "host",
        "No two turns of a host have the same `turn_id`.",
        "Draw a new id for each turn; hand over a turn again only as it was.",
        "spec/v1/74-record.md#the-hook",
    ),
    "one_record": Rule(
        "74-record",
        "host",
        "A host calls `record` in place of `on_turn_complete`, and one of the two for each turn.",
        "Hand a turn over once: by `record` where that is declared.",
        "spec/v1/74-record.md#what-a-host-does",
    ),
    "offered": Rule(
        "80-hosts",
        "host",
        "A host calls a tool that the provider's schemas have, and no other.",
        "Answer the call of an unknown tool in the host, with an error as JSON.",
        "spec/v1/80-hosts.md#tools",
    ),
}


def rule(name: str) -> Rule:
    """The rule of that id, or of that word of ours."""
    if name in _UNNUMBERED:
        return _UNNUMBERED[name]
    found = spec.requirement(name)
    return Rule(found.id, found.side, found.text, found.fix, found.clause)


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """
    One thing that is not as it should be.

    Attributes:
        line: Where in the file.
        provider: Whose call it was.
        rule: What it violates.
        seen: What happened, as a sentence.

    """

    line: int
    provider: str
    rule: Rule
    seen: str
