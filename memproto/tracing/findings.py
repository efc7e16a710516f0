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
