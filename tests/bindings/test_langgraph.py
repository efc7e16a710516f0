"""Stores of LangGraph, judged by their shape and called as the nodes of a graph call them."""

import threading
import types

import pytest

from memproto import bindings, loading
from memproto.bindings import LANGGRAPH, LANGGRAPH_IN_MEMORY, InMemory
from memproto.errors import NoProvider, WriteRefused
from tests import places
from tests.bindings import langgraph_stores as stores
from tests.bindings.strands_stores import Ledger
from tests.good.journal import Journal
from tests.kit_runs import ROOT, outcomes, reported

TARGET = "--memproto=tests.bindings.langgraph_stores:{}"

#: Requirements that ask a process which has not stored what it is asked for.
OF_PROCESSES = {
    *("MP-ISO-011", "MP-PROC-005", "MP-PROC-006", "MP-PROC-007", "MP-PROC-009", "MP-PROC-010"),
}


@pytest.fixture
def opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def start(make, user="ines"):
        store = make()
        adapter = bindings.recognised(store).adapt(store)
        adapter.initialize("s1", {"home": "unused", **({"user_id": user} if user else {})})
        return adapter

    return start


# -- judged ----------------------------------------------------------------------------------------


@pytest.mark.once
def test_a_good_store_conforms_without_a_setting(tmp_path):
    (report,) = reported(tmp_path, TARGET.format("Shelf"))["reports"]
    assert (report["verdict"], report["binding"]) == ("CONFORMANT", "langgraph")
    hooks = {name: report["operations"][name]["hook"] for name in ("recall", "mirror")}
    assert hooks == {"recall": "search", "mirror": "put"}
    found = outcomes(report)
    assert set(found.values()) == {"pass", "not_applicable"}
    assert found["MP-RECALL-004"] == "not_applicable"
    passed = list(found.values()).count("pass")
    said = f"`{passed} passed, {len(found) - passed} not applicable`"
    assert said in (ROOT / "docs" / "langgraph.md").read_text("utf-8")


@pytest.mark.once
def test_a_store_that_says_that_it_forgets_is_asked_for_nothing_in_a_new_process(tmp_path):
    (report,) = reported(tmp_path, TARGET.format("passing"))["reports"]
    assert (report["verdict"], report["binding"]) == ("CONFORMANT", "langgraph-in-memory")
    found = outcomes(report)
    assert {found[name] for name in OF_PROCESSES} == {"not_applicable"}
    assert found["MP-WRITE-001"] == found["MP-TENANT-006"] == "pass"


@pytest.mark.once
@pytest.mark.parametrize("kind", places.half_nightly(["Searching", "built"]))
def test_a_store_with_an_index_and_one_that_was_built_already_conform(tmp_path, kind):
    words = [f"--memproto-clause=MP-{area}" for area in ("WRITE", "DATA", "RECALL", "TENANT")]
    (report,) = reported(tmp_path, TARGET.format(kind), *words)["reports"]
    found = outcomes(report)
    assert set(found.values()) == {"pass", "not_applicable", "not_run"}
    assert found["MP-RECALL-004"] == ("pass" if kind == "Searching" else "not_applicable")


@pytest.mark.once
@pytest.mark.parametrize(
    ("kind", "rule", "method"),
    [
        ("Together", "MP-TENANT-001", "Together.search"),
        ("Near", "MP-TENANT-006", "Near.search"),
        ("KeepsDeleted", "MP-WRITE-004", "KeepsDeleted.put"),
        places.nightly("KeepsOld", "MP-WRITE-003", "KeepsOld.put"),
        places.nightly("DropsLong", "MP-WRITE-005", "DropsLong.put"),
        ("Hangs", "MP-RECALL-002", "_within"),
        ("GivesBytes", "MP-RECALL-001", "GivesBytes.search"),
        ("Passing", "MP-PROC-010", "Passing.put"),
    ],
)
def test_a_broken_one_is_red_with_the_method_that_its_author_wrote(tmp_path, kind, rule, method):
    document = reported(tmp_path, TARGET.format(kind), f"--memproto-clause={rule}")
    (red,) = [row for row in document["reports"][0]["results"] if row["outcome"] == "fail"]
    assert red["id"] == rule
    assert red["where"].split(" in ")[-1] == method


@pytest.mark.once
def test_a_store_of_which_nothing_comes_back_is_incomplete(tmp_path):
    (report,) = reported(tmp_path, TARGET.format("Loses"), "--memproto-clause=MP-WRITE")["reports"]
    assert report["verdict"] == "INCOMPLETE"
    assert outcomes(report)["MP-WRITE-001"] == "untestable"


# -- recognised ------------------------------------------------------------------------------------


def of_framework(module, name, *bases):
    return type(name, bases, {"__module__": f"langgraph.store.{module}"})


def test_a_store_is_recognised_by_its_shape(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert bindings.recognised(stores.Shelf()) is LANGGRAPH
    assert bindings.recognised(stores.passing()) is LANGGRAPH_IN_MEMORY
    assert bindings.defined(stores.Shelf)


def test_the_base_classes_of_the_framework_are_no_stores_and_their_subclasses_are():
    base = of_framework("base", "BaseStore")
    batched = of_framework("base.batch", "AsyncBatchedBaseStore", base)
    assert not any(LANGGRAPH.recognises(kind) for kind in (base, batched))
    assert LANGGRAPH.recognises(type("Mine", (batched,), {}))


def test_the_framework_s_own_store_in_memory_and_its_subclasses_forget():
    kept = of_framework("memory", "InMemoryStore", of_framework("base", "BaseStore"))
    mine = type("Mine", (kept,), {})
    assert {bindings.recognised(kind()) for kind in (kept, mine)} == {LANGGRAPH_IN_MEMORY}


@pytest.mark.parametrize(
    "found",
    [Journal, Journal(), Ledger(), object(), {}, types.SimpleNamespace(), None, InMemory(3)],
    ids=lambda found: getattr(found, "__name__", type(found).__name__),
)
def test_nothing_else_is_a_store(found):
    assert bindings.recognised(found) not in (LANGGRAPH, LANGGRAPH_IN_MEMORY)


@pytest.mark.parametrize(
    ("target", "follows"), [("Shelf", True), ("built", False), ("passing", False)]
)
def test_all_sessions_share_a_store_that_is_built_anew_in_another_directory(
    tmp_path, monkeypatch, target, follows
):
    loaded = loading.load(f"tests.bindings.langgraph_stores:{target}")
    one, other = (bindings.author_object(loaded.build()) for _ in range(2))
    assert one is other
    monkeypatch.chdir(tmp_path)
    third = bindings.author_object(loaded.build())
    assert (third is not one) is follows
    assert bindings.author_object(loaded.build()) is third


def test_an_object_of_another_framework_is_still_no_target():
    with pytest.raises(NoProvider, match="built already"):
        loading.load("tests.bindings.test_langgraph:BUILT")


#: A provider of another framework.
BUILT = Journal()


# -- called ----------------------------------------------------------------------------------------


def test_an_entry_is_put_replaced_under_its_key_and_deleted(opened):
    shelf = opened(stores.Shelf)
    shelf.on_memory_write("add", "user", "The boat is the Ondine.")
    (item,) = shelf.author.search(("users", "ines"))
    assert item.value == {"text": "The boat is the Ondine.", "kind": "user"}
    shelf.on_memory_write("replace", "user", "The boat is the Vell.", "Ondine")
    (again,) = shelf.author.search(("users", "ines"))
    assert (again.key, again.value["text"]) == (item.key, "The boat is the Vell.")
    shelf.on_memory_write("remove", "user", None, "Vell")
    assert shelf.author.search(("users", "ines")) == []


@pytest.mark.parametrize(
    ("old", "why"), [("harbour", "no entry holds"), ("boat", "several entries hold")]
)
def test_a_text_that_not_exactly_one_entry_holds_changes_none(opened, old, why):
    shelf = opened(stores.Shelf)
    for text in ("A boat.", "Another boat."):
        shelf.on_memory_write("add", "memory", text)
    for action in ("replace", "remove"):
        with pytest.raises(WriteRefused, match=why):
            shelf.on_memory_write(action, "memory", "A ship.", old)
    assert {*shelf.enrich_turn("", []).splitlines()} == {"A boat.", "Another boat."}


def test_without_an_index_recall_is_all_of_the_namespace_and_with_one_the_nearest_ten(opened):
    texts = [f"Boat {number}." for number in range(230)]
    for make, shown in ((stores.Passing, 230), (stores.Searching, 10)):
        session = opened(make)
        for text in texts:
            session.on_memory_write("add", "memory", text)
        recalled = session.enrich_turn("Boat 17.", []).splitlines()
        assert len(recalled) == shown
        assert "Boat 17." in recalled


def test_a_store_that_takes_no_offset_is_listed_to_an_end(opened):
    class Repeats(stores.Passing):
        def search(self, namespace_prefix, /, *, query=None, limit=10, offset=0):
            return super().search(namespace_prefix, limit=limit)

    session = opened(Repeats)
    session.on_memory_write("add", "memory", "A boat.")
    assert session.enrich_turn("boat", []) == "A boat."


@pytest.mark.parametrize(
    ("user", "namespace"),
    [
        ("ines", ("users", "ines")),
        ("ines@vell.org", ("users", "ines@vell~2eorg")),
        ("a~2eb", ("users", "a~7e2eb")),
        ("\x00", ("users", "~00")),
        ("", ("users", "~")),
        (None, ("nobody",)),
    ],
)
def test_an_id_becomes_a_label_that_the_base_class_takes(opened, user, namespace):
    session = opened(stores.Passing, None)
    session.initialize("s1", {"user_id": user})
    session.on_memory_write("add", "memory", "A boat.")
    assert session.author.list_namespaces() == [namespace]


def test_a_method_runs_on_the_thread_of_its_caller_and_lets_its_error_through(opened):
    seen = []

    class Fails(stores.Passing):
        def search(self, namespace_prefix, /, *, query=None, limit=10, offset=0):
            seen.append(threading.current_thread())
            raise LookupError("no index")

    with pytest.raises(LookupError, match="no index"):
        opened(Fails).enrich_turn("boat", [])
    assert seen == [threading.current_thread()]


def test_hooks_that_nobody_calls_are_named(opened):
    missing = opened(stores.Passing).missing_hooks
    assert {"on_turn_complete", "on_compress", "shutdown"} <= {*missing}
    assert not {"search", "put"} & {*missing}


def test_the_report_notes_how_a_store_is_asked():
    assert LANGGRAPH.notes(stores.Passing()) == (
        "judged by its shape: no subclass of the BaseStore of langgraph",
        "it shows no index, so that recall is all that the namespace holds",
    )
    assert "it forgets with its process" in LANGGRAPH_IN_MEMORY.notes(stores.passing())[-1]


def test_a_method_that_the_framework_wrote_is_told_as_the_batch_behind_it():
    base = of_framework("base", "BaseStore")
    base.put = base.search = lambda self: None
    own = type("Own", (base,), {"search": lambda self: None})
    adapter = LANGGRAPH.adapt(own())
    assert LANGGRAPH.where(adapter, "mirror") == "Own.batch"
    assert LANGGRAPH.where(adapter, "recall") == ""
