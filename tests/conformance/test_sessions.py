"""The checks on sessions, of providers in the Hermes binding and of kinds that no mutant is of."""

import contextlib

import pytest

from memproto.adapters.hermes import from_hermes
from memproto.bindings import HERMES, NATIVE
from memproto.conformance.provider import contexts
from memproto.conformance.provider.extensions import prewarm, sessions
from memproto.errors import Rejected
from memproto.testing.clauses import NotApplicable, Untestable, Violation
from memproto.testing.context import Context
from memproto.testing.needs import READ_BACK
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Watch
from tests.good.journal import Journal
from tests.good.private import Private
from tests.good.switching import Switching

ISOLATING = {
    "isolates": ["profile", "user", "session"],
    "extensions": ["sessions", "prewarm", "turns"],
    "stores": ["turns", "writes"],
}


class NoWire:
    def hook(self, operation, budget_s, *_):
        return contextlib.nullcontext(0.0)


@pytest.fixture
def run_of(tmp_path):
    def build(factory, binding=NATIVE, capabilities=ISOLATING, **context):
        told = {"capabilities": capabilities, **context}
        routes = {"turns": "observed", "writes": "observed", "tools": "absent"}
        watch = Watch(NoWire())
        home = tmp_path / "memory"
        return Run(factory, binding, home, watch, Context(routes=routes, **told))

    return build


class InHermes:
    """Switching in the dialect of Hermes."""

    name = "switching"

    def __init__(self):
        self.inner = Switching()

    def is_available(self):
        return True

    def initialize(self, session_id, **kwargs):
        self.inner.initialize(session_id, {**kwargs, "home": kwargs["hermes_home"]})

    def get_tool_schemas(self):
        return []

    def prefetch(self, query, *, session_id=""):
        return self.inner.enrich_turn(query, [])

    def sync_turn(self, user_content, assistant_content, *, session_id=""):
        self.inner.on_turn_complete(user_content, assistant_content)

    def on_memory_write(self, action, target, content, metadata=None):
        self.inner.on_memory_write(action, target, content, (metadata or {}).get("old_text"))

    def on_session_switch(self, new_session_id, *, parent_session_id="", reset=False, **kwargs):
        self.inner.on_session_switch(new_session_id)

    def shutdown(self):
        self.inner.shutdown()


class NotTold(InHermes):
    """As one that inherits the hook from the base class, where it does nothing."""

    def on_session_switch(self, new_session_id, **kwargs):
        pass


class Detached(InHermes):
    """Has no such hook at all."""

    on_session_switch = None


def hermes(kind):
    return lambda: from_hermes(kind())


CHECKS = [
    sessions.every_kind_of_switch_is_taken,
    sessions.a_switch_costs_nothing,
    sessions.what_came_before_stays_in_the_old_session,
    sessions.what_comes_after_is_in_the_new_session,
    sessions.recall_follows_the_switch,
]


@pytest.mark.parametrize("check", CHECKS)
def test_a_hermes_provider_that_switches_is_held_to_it_by_what_is_seen(run_of, check):
    run = run_of(hermes(InHermes), HERMES, {"isolates": ["session"], "extensions": ["sessions"]})
    check(run)


def test_a_hermes_provider_that_keeps_sessions_apart_has_to_switch(run_of):
    run = run_of(hermes(NotTold), HERMES, {"isolates": ["session"], "extensions": []})
    with pytest.raises(Violation, match="is in session key"):
        sessions.what_comes_after_is_in_the_new_session(run)


def test_a_hermes_provider_without_the_hook_is_not_switched(run_of):
    run = run_of(hermes(Detached), HERMES, {"isolates": ["session"], "extensions": []})
    with pytest.raises(NotApplicable, match="on_session_switch"):
        sessions.what_comes_after_is_in_the_new_session(run)


def test_a_hermes_provider_without_an_end_may_still_switch(run_of):
    run = run_of(hermes(InHermes), HERMES, {"isolates": ["session"], "extensions": []})
    sessions.every_kind_of_switch_is_taken(run)
    with pytest.raises(NotApplicable):
        sessions.an_end_costs_nothing(run)


def test_a_hermes_provider_may_keep_mirrored_writes_for_all_sessions(run_of):
    class WritesForAll(InHermes):
        def initialize(self, session_id, **kwargs):
            super().initialize(session_id, **kwargs)
            self.shared = Journal()
            self.shared.initialize(session_id, {"home": kwargs["hermes_home"]})

        def on_memory_write(self, action, target, content, metadata=None):
            self.shared.on_memory_write(action, target, content, (metadata or {}).get("old_text"))

        def prefetch(self, query, *, session_id=""):
            found = (super().prefetch(query), self.shared.enrich_turn(query, []))
            return "\n".join(filter(None, found))

    run = run_of(hermes(WritesForAll), HERMES, {"extensions": []})
    sessions.what_came_before_stays_in_the_old_session(run)
    sessions.what_comes_after_is_in_the_new_session(run)


def test_a_native_provider_may_export_mirrored_writes_with_no_session(run_of):
    class WritesForAll(Private):
        def on_memory_write(self, action, target, content, old_text=None):
            told, self._session = self._session, "of no session"
            super().on_memory_write(action, target, content, old_text)
            self._session = told

    class TurnsStay(WritesForAll):
        def on_session_switch(self, new_session_id, **kwargs):
            pass

    told = {**ISOLATING, "isolates": ["profile", "user"], "extensions": ["privacy", "sessions"]}
    run = run_of(WritesForAll, capabilities=told)
    sessions.what_came_before_stays_in_the_old_session(run)
    sessions.what_comes_after_is_in_the_new_session(run)
    with pytest.raises(Violation, match="on_turn_complete after a switch"):
        sessions.what_comes_after_is_in_the_new_session(run_of(TurnsStay, capabilities=told))


def test_a_rewind_may_take_back_all_of_the_session(run_of):
    class TakesBack(Switching):
        def on_session_switch(self, new_session_id, **kwargs):
            super().on_session_switch(new_session_id, **kwargs)
            if kwargs.get("rewound"):
                self._entries = []
                self._save()

    sessions.a_switch_costs_nothing(run_of(TakesBack))


def test_users_are_not_judged_side_by_side_where_one_instance_writes(run_of):
    single = {**ISOLATING, "isolates": ["profile", "user"], "single_writer": True}
    with pytest.raises(NotApplicable, match="side by side"):
        prewarm.what_was_prepared_stays_apart(run_of(Switching, capabilities=single))


def test_where_sessions_share_a_memory_no_check_asks_whose_a_text_is(run_of):
    class Shared(Journal):
        def on_session_switch(self, new_session_id, **kwargs):
            pass

    run = run_of(Shared, capabilities={**ISOLATING, "isolates": ["profile"]})
    with pytest.raises(NotApplicable, match="cannot be seen"):
        sessions.what_comes_after_is_in_the_new_session(run)
    sessions.a_switch_costs_nothing(run)


def test_a_derived_memory_needs_to_be_counted_to_see_a_second_end(run_of):
    class Derived(Switching):
        def _search(self, query):
            found = super()._search(query)
            return found and found.replace(" ", "_")

    with pytest.raises(Untestable) as found:
        sessions.a_second_end_stores_nothing(run_of(Derived))
    assert found.value.needs == READ_BACK


def test_a_hermes_provider_is_not_asked_what_it_never_promised(run_of):
    run = run_of(hermes(InHermes), HERMES, ISOLATING)
    with pytest.raises(NotApplicable, match="extensions"):
        sessions.an_end_writes_what_was_accepted(run)
    with pytest.raises(NotApplicable, match="recall_basis"):
        prewarm.another_question_is_answered(run)


class OneSlot(InHermes):
    """Gives once what was prepared last, whatever is asked; all its sessions share a memory."""

    def __init__(self):
        self.inner, self.ready = Journal(), ""

    def on_session_switch(self, new_session_id, **kwargs):
        pass

    def queue_prefetch(self, query, *, session_id=""):
        self.ready = self.inner.enrich_turn(query, []) or ""

    def prefetch(self, query, *, session_id=""):
        ready, self.ready = self.ready, ""
        return ready or self.inner.enrich_turn(query, [])


class EmptiedAtTheEnd(OneSlot):
    def on_session_end(self, messages):
        self.ready = ""


class BringsEverything(OneSlot):
    """As one that ranks by meaning: a few texts all come for any question."""

    def prefetch(self, query, *, session_id=""):
        return "\n".join(entry["text"] for entry in self.inner._load())


SHARED = {"extensions": ["sessions", "prewarm"], "stores": ["turns"]}


@pytest.mark.once
def test_one_slot_gives_a_new_conversation_the_answer_to_the_old_one(run_of):
    with pytest.raises(Violation, match="after a switch to a new conversation"):
        prewarm.what_was_prepared_stays_in_its_conversation(run_of(hermes(OneSlot), HERMES, SHARED))


@pytest.mark.once
@pytest.mark.parametrize("kind", [EmptiedAtTheEnd, BringsEverything])
def test_what_is_dropped_at_the_end_or_comes_anyway_does_not_stray(run_of, kind):
    prewarm.what_was_prepared_stays_in_its_conversation(run_of(hermes(kind), HERMES, SHARED))


def test_a_context_that_the_host_writes_in_may_be_stored(run_of):
    protocol = {"contexts": ["primary", "cron"]}
    stores = {"stores": ["turns"]}
    contexts.other_contexts_store_no_turns(
        run_of(Journal, config={"protocol": protocol}, capabilities=stores)
    )


def test_a_turn_that_is_refused_outside_of_a_conversation_is_not_stored(run_of):
    class Refusing(Journal):
        def initialize(self, session_key, config):
            super().initialize(session_key, config)
            self.context = config["agent_context"]

        def on_turn_complete(self, user_message, assistant_response):
            if self.context != "primary":
                raise Rejected("no turns of a job")
            super().on_turn_complete(user_message, assistant_response)

    contexts.other_contexts_store_no_turns(run_of(Refusing, capabilities={"stores": ["turns"]}))


def test_a_context_that_the_host_does_not_name_is_told(run_of):
    class Careless(Journal):
        def initialize(self, session_key, config):
            super().initialize(session_key, {**config, "agent_context": "primary"})

    with pytest.raises(Violation, match="stored one of subagent and cron and flush"):
        contexts.other_contexts_store_no_turns(run_of(Careless, capabilities={"stores": ["turns"]}))


class TellsTheTurnBefore(Journal):
    """Each answer belongs to the question before, and is given once."""

    asked = ""

    def on_session_end(self, messages):
        """The turns are written already."""

    def enrich_turn(self, user_message, messages):
        asked, self.asked = self.asked, ""
        return super().enrich_turn(asked, messages) if asked else None

    def on_turn_complete(self, user_message, assistant_response):
        if not user_message.endswith("?"):
            super().on_turn_complete(user_message, assistant_response)
        self.asked = user_message


def test_copies_are_counted_in_a_recall_of_the_turn_before(run_of):
    told = {"extensions": ["sessions"], "stores": ["turns"], "recall_basis": "previous"}
    sessions.a_second_end_stores_nothing(run_of(TellsTheTurnBefore, capabilities=told))


class InOtherWords(Private):
    """Shows texts in words of its own, by recall and in an export."""

    def enrich_turn(self, user_message, messages):
        found = super().enrich_turn(user_message, messages)
        return found and found.replace(" ", " (so I heard) ")

    def export(self, scope):
        found = super().export(scope)
        items = [
            one | {"text": one["text"].replace(" ", " (so I heard) ")} for one in found["items"]
        ]
        return {"items": items}

    def on_session_end(self, messages):
        """The turns are stored already."""


class StoresEachEnd(InOtherWords):
    """Stores the messages of each end."""

    def on_session_end(self, messages):
        for message in messages:
            self.on_turn_complete(message["content"], "")


_IN_OTHER_WORDS = {
    "extensions": ["sessions", "privacy"],
    "stores": ["turns"],
    "retention": "derived",
}


def test_copies_in_other_words_are_counted_in_an_export(run_of):
    sessions.a_second_end_stores_nothing(run_of(InOtherWords, capabilities=_IN_OTHER_WORDS))


def test_a_second_end_that_stores_in_other_words_is_seen_in_an_export(run_of):
    with pytest.raises(Violation, match="as after one end"):
        sessions.a_second_end_stores_nothing(run_of(StoresEachEnd, capabilities=_IN_OTHER_WORDS))
