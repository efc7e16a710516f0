"""The needs of a requirement are data on its check; declarations decide without a process."""

import pytest

from memproto import spec
from memproto.bindings import HERMES, NATIVE
from memproto.testing import clauses
from memproto.testing.clauses import Check, NotApplicable
from memproto.testing.conditions import (
    RECALL_BY_QUERY,
    BindingHas,
    Declared,
    DeclaredFor,
    Extension,
    ExtensionHook,
    ExtensionOrHook,
    Hook,
    Stores,
)
from memproto.testing.judging import applicability, children
from memproto.testing.judging.applicability import Declarations
from memproto.testing.judging.judge import Judge
from memproto.testing.outcomes import Outcome
from memproto.testing.settings.order import Contact, Order

RECORD = Extension("record")
NO_RECORD = "the extension `record` is not served (record)"
END = ExtensionHook("record", "end", "switch")
FOR_IT = DeclaredFor("extensions", "record", "a {title} provider cannot")
ONE_WRITER = Declared("single_writer", False, none_of=(True,), otherwise="it is {value}")
BY_USER = Declared("isolates", ["profile"], any_of=("user",), otherwise="no user in {value}")


def known(binding=NATIVE, declares=None, hooks=None, **capabilities):
    """The things known: by first contact, or by a process that sees the hooks too."""
    found = Declarations(binding, capabilities, declares or {})
    if hooks is None:
        return found

    class Seen(Declarations):
        def lacks(self, operation):
            return operation not in hooks

    return Seen(binding, capabilities, declares or {})


@pytest.mark.parametrize(
    ("condition", "provider", "reason"),
    [
        (RECORD, known(extensions=["tools"]), NO_RECORD),
        (RECORD, known(extensions=["record"]), ""),
        (RECORD, known(), NO_RECORD),
        (END, known(), NO_RECORD),
        (END, known(HERMES), ""),
        (END, known(HERMES, hooks={"end"}), ""),
        (END, known(HERMES, hooks={"end", "switch"}), NO_RECORD),
        (END, known(HERMES, hooks={"switch"}), NO_RECORD),
        (ExtensionOrHook("record", "switch"), known(), NO_RECORD),
        (ExtensionOrHook("record", "switch"), known(HERMES), ""),
        (
            ExtensionOrHook("record", "switch"),
            known(HERMES, hooks=set()),
            "the provider has no on_session_switch of its own",
        ),
        (Hook("end"), known(), ""),
        (Hook("end"), known(HERMES), ""),
        (Hook("end"), known(HERMES, hooks=set()), "the provider has no on_session_end of its own"),
        (ONE_WRITER, known(), ""),
        (ONE_WRITER, known(single_writer=True), "it is True"),
        (BY_USER, known(), "no user in ['profile']"),
        (BY_USER, known(isolates=["user", "profile"]), ""),
        (FOR_IT, known(), ""),
        (FOR_IT, known(HERMES), "a Hermes provider cannot"),
        (FOR_IT, known(HERMES, {"extensions": ["record"]}), ""),
        (RECALL_BY_QUERY[0], known(HERMES, {"recall_basis": "session"}), ""),
        (
            RECALL_BY_QUERY[1],
            known(HERMES, recall_basis="session"),
            "recall_basis is session: answers do not depend on the question",
        ),
        (BindingHas("can_declare", "{binding} cannot"), known(HERMES), "hermes cannot"),
        (BindingHas("can_declare", "{binding} cannot"), known(), ""),
        (
            Stores(("turns", "tools")),
            known(stores=["writes"]),
            "the provider does not declare that it stores turns or tools",
        ),
        (Stores(("turns", "tools")), known(stores=["tools"]), ""),
        (Stores(("turns",)), known(), ""),
        (Stores(("turns",)), known(HERMES, stores=["writes"]), ""),
        # A replace alone may bring a text in, which only a run can try.
        (Stores(("writes",)), known(stores=["turns"], mirrors={"memory": ["replace"]}), ""),
    ],
)
def test_a_condition_says_why_a_provider_is_not_concerned(condition, provider, reason):
    assert condition.unmet(provider) == reason


def test_the_first_condition_that_is_not_met_is_the_reason():
    check = Check("MP-REC-001", print, 60.0, 0.0, conditions=(RECORD, ONE_WRITER))
    contact = Contact(binding=NATIVE, capabilities={"single_writer": True})
    assert applicability.unmet(check, Order("x"), contact) == NO_RECORD
    contact.capabilities["extensions"] = ["record"]
    assert applicability.unmet(check, Order("x"), contact) == "it is True"
    contact.capabilities["single_writer"] = False
    assert applicability.unmet(check, Order("x"), contact) == ""


def test_what_stands_behind_a_condition_that_only_a_process_decides_is_left_to_it():
    first = (Hook("end"), END, ExtensionOrHook("record", "end"))
    for condition in first:
        check = Check("MP-REC-001", print, 60.0, 0.0, conditions=(condition, FOR_IT))
        assert check.unmet(known(HERMES, extensions=["record"])) == ""
        hooks = {"end", "switch"}
        seen = known(HERMES, hooks=hooks, extensions=["record"])
        assert check.unmet(seen) == "a Hermes provider cannot"


def test_a_process_looks_at_the_same_conditions_before_the_function():
    ran = []
    check = Check("MP-REC-001", ran.append, 60.0, 0.0, conditions=(RECORD,))
    with pytest.raises(NotApplicable, match="is not served"):
        check.decide(known())
    assert ran == []
    concerned = known(extensions=["record"])
    check.decide(concerned)
    assert ran == [concerned]


def test_the_check_is_handed_the_route_that_is_served():
    class Run:
        def needs_route(self, *any_of):
            return any_of[1]

    run, used = Run(), []
    check = Check("MP-TURN-001", lambda it: used.append(it.route), 60.0, 0.0, routes=("a", "b"))
    check.decide(run)
    assert used == ["b"]


def test_what_is_not_applicable_starts_no_process(tmp_path, monkeypatch):
    def start(*_, **__):
        raise AssertionError("a process was started")

    monkeypatch.setattr(children, "ChildProcess", start)
    contact = Contact(binding=NATIVE, capabilities={"stores": ["writes"]})
    judge = Judge(Order("x"), tmp_path, contact)
    for name in ("MP-REC-001", "MP-TURN-001", "MP-TENANT-001", "MP-ITEMS-006", "MP-CONF-011"):
        (result,) = judge.run(spec.requirement(name))
        assert result.outcome is Outcome.NOT_APPLICABLE
    assert judge._children.process is None


#: Requirements about what a provider has without the extension being served, with the reason.
WITHOUT = {
    "MP-CAP-004": "declared names are compared with what is offered, nothing with nothing",
    "MP-STATUS-004": "the hook of a provider that does not serve is asked",
    "MP-TOOL-001": "tools are called wherever there are any",
}


def test_the_check_of_a_rule_of_an_extension_names_it_or_its_hook():
    for check in clauses.checks("provider").values():
        extension = spec.requirement(check.requirement).extension
        named = [item.name for item in check.conditions if isinstance(item, Extension)]
        hooks = [item.operation for item in check.conditions if isinstance(item, Hook)]
        if extension and check.requirement not in WITHOUT:
            assert named == [extension] or hooks, check.requirement
        else:
            assert named == [], check.requirement


def test_every_condition_can_be_told_in_words_and_as_data():
    for check in clauses.checks("provider").values():
        for condition in check.conditions:
            assert condition.words
            assert not condition.words.endswith(".")
            assert condition.as_dict()["kind"] == condition.kind != ""
            assert "otherwise" not in condition.as_dict()
