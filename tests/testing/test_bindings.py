"""The bindings as objects, and a third one that another package brings."""

import json

import jsonschema
import pytest

from memproto import bindings, spec
from memproto.bindings import BUILT_IN, HERMES, NATIVE, Binding
from memproto.testing.settings.order import Contact
from tests import larder
from tests.kit_runs import install, kit, outcomes, reported, write

pytestmark = pytest.mark.once

TARGET = "--memproto=tests.larder:{}"

#: Says, at its import, whether the process is one that holds the verdict.
WATCHED = """
import pathlib, sys
with pathlib.Path(__file__).with_name("imported").open("a") as file:
    print("pytest" in sys.modules, file=file)
from tests.larder import BINDING
"""


@pytest.fixture
def pantry(tmp_path):
    write(tmp_path, watched__py=WATCHED)
    install(tmp_path, "larder", "watched:BINDING")
    return tmp_path


# -- end to end ------------------------------------------------------------------------------------


def test_a_good_provider_of_a_third_binding_conforms(pantry):
    document = reported(pantry, TARGET.format("Shelf"))
    (report,) = document["reports"]
    assert (report["verdict"], report["binding"]) == ("CONFORMANT", "larder")
    assert report["operations"]["recall"]["hook"] == "fetch"
    assert outcomes(report)["MP-TURN-001"] == "pass"
    told = {key: value for key, value in document.items() if key != "run"}
    jsonschema.validate(told, spec.schema("report"))
    # The processes that hold the provider imported it, and the one that holds the verdict did not.
    assert set((pantry / "imported").read_text().split()) == {"False"}


@pytest.mark.parametrize(
    ("kind", "rule", "hook"),
    [
        ("FetchesBytes", "MP-RECALL-001", "FetchesBytes.fetch"),
        ("SavesNothingOdd", "MP-TURN-002", "SavesNothingOdd.save"),
    ],
)
def test_a_broken_one_is_red_with_the_hook_that_its_author_wrote(pantry, kind, rule, hook):
    document = reported(pantry, TARGET.format(kind), f"--memproto-clause={rule}")
    (red,) = [row for row in document["reports"][0]["results"] if row["outcome"] == "fail"]
    assert red["id"] == rule
    assert red["where"].endswith(f" in {hook}")
    assert f"{hook.partition('.')[2]} " in document["run"].stdout


def test_workers_know_the_binding_by_its_values(pantry):
    words = ["--memproto-clause=MP-RECALL-001", "-n", "1"]
    document = reported(pantry, TARGET.format("FetchesBytes"), *words)
    assert outcomes(document["reports"][0])["MP-RECALL-001"] == "fail"
    assert set((pantry / "imported").read_text().split()) == {"False"}


def test_what_a_binding_of_ours_recognises_imports_none_of_another_package(pantry):
    words = ["--memproto-clause=MP-NAME-001"]
    assert kit(pantry, "--memproto=tests.good.journal:Journal", *words).returncode == 0
    assert not (pantry / "imported").exists()


def test_what_is_wrong_with_an_installed_binding_is_told_where_it_could_have_helped(tmp_path):
    said = "raise OSError('the cupboard\\n\\x1b[31mis bare')"
    write(tmp_path, raises__py=said, plain__py="BINDING = 3", ends__py="raise SystemExit(0)")
    install(tmp_path, "ends", "ends:BINDING")
    install(tmp_path, "bare", "raises:BINDING")
    install(tmp_path, "three", "plain:BINDING")
    done = kit(tmp_path, TARGET.format("Shelf"))
    assert done.returncode == 4
    assert "Shelf lacks name" in done.stderr
    assert "the binding 'bare' raises OSError: the cupboard " in done.stderr
    assert "\x1b" not in done.stderr
    assert "the binding 'three' is no memproto.bindings.Binding" in done.stderr
    assert "the binding 'ends' raises SystemExit: 0" in done.stderr


def test_an_installed_binding_does_not_take_the_name_of_another_one(tmp_path):
    write(
        tmp_path,
        taken__py="import dataclasses\nfrom tests.larder import BINDING as B\n"
        "BINDING = dataclasses.replace(B, name='hermes')\n",
    )
    install(tmp_path, "larder", "taken:BINDING")
    done = kit(tmp_path, TARGET.format("Shelf"))
    assert done.returncode == 4
    assert "has the name 'hermes' of another one" in done.stderr + done.stdout


def test_a_binding_that_raises_when_it_is_asked_recognises_nothing(tmp_path):
    write(
        tmp_path,
        angry__py="""
from memproto.bindings import Binding
class Angry(Binding):
    def recognises(self, found):
        raise RuntimeError("not now")
BINDING = Angry(name="angry", title="Angry")
""",
    )
    install(tmp_path, "angry", "angry:BINDING")
    install(tmp_path, "larder", "tests.larder:BINDING")
    done = kit(tmp_path, TARGET.format("Shelf"), "--memproto-clause=MP-NAME-001")
    assert done.returncode == 0, done.stdout
    assert "(larder, tests.larder:Shelf)" in done.stdout


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("binding", [*BUILT_IN, larder.BINDING], ids=lambda item: item.name)
def test_the_values_of_a_binding_travel_as_json(binding):
    values = json.loads(json.dumps(binding.as_dict()))
    there = Binding.from_dict(values)
    assert there.as_dict() == binding.as_dict()
    assert (there.hook("recall"), there.key("stores")) == (
        binding.hook("recall"),
        binding.key("stores"),
    )


def test_a_contact_keeps_the_binding_of_another_package():
    sent = json.loads(json.dumps(Contact(larder.BINDING).as_dict()))
    assert Contact.from_dict(sent).binding.hook("record") == "save"
    assert Contact.from_dict(json.loads(json.dumps(Contact(HERMES).as_dict()))).binding is HERMES


@pytest.mark.parametrize(
    "values",
    [
        {"name": "Larder"},
        {"name": "larder\n"},
        {"title": "\x1b[31mred"},
        {"title": ""},
        {"hooks": {"recall": "fetch()"}},
        {"hooks": {"recall": "fetch\x00"}},
        {"hooks": {"remember": "fetch"}},
        {"home_variable": "PATH=x"},
        {"rules": ("any\n",)},
        {"rules": 3},
        {"unknown": 1},
    ],
    ids=str,
)
def test_values_that_a_report_could_not_show_are_refused(values):
    with pytest.raises(ValueError, match=r"binding|operation"):
        bindings.told({**larder.BINDING.as_dict(), **values})


def test_an_operation_without_a_hook_of_the_binding_has_its_native_name():
    assert HERMES.hook("declare") == "capabilities"
    assert larder.BINDING.hook("compress") == "on_compress"


def test_a_hook_that_serves_two_operations_is_recorded_as_the_first():
    assert HERMES.operations()["on_pre_compress"] == "compress"
    assert HERMES.is_one_hook("compress", "compress_notes")
    assert not NATIVE.is_one_hook("compress", "compress_notes")


def test_every_requirement_is_about_a_binding_that_there_is():
    named = {item.binding for item in spec.requirements().values()}
    assert named == {rule for binding in BUILT_IN for rule in binding.rules}


def test_a_requirement_about_one_binding_is_not_about_another():
    row = spec.requirement("MP-CAP-001")
    assert row.applies_to(NATIVE)
    assert not row.applies_to(HERMES)
    assert not row.applies_to(larder.BINDING)


class OfHermesInCoroutines:
    """Written for Hermes, whose host waits for no coroutine."""

    name = "coroutines"

    def is_available(self):
        return True

    async def initialize(self, session_id, **kwargs): ...

    async def prefetch(self, query, *, session_id=""): ...

    async def sync_turn(self, user_content, assistant_content, *, session_id=""): ...

    def get_tool_schemas(self):
        return []

    async def shutdown(self): ...


class OfNobodyInCoroutines:
    """A native provider in coroutines that is not whole yet."""

    name = "coroutines"

    def is_available(self):
        return True

    async def initialize(self, session_key, config): ...

    async def enrich_turn(self, user_message, messages): ...


def test_coroutines_are_hooks_of_the_binding_whose_names_they_have():
    for found in (OfHermesInCoroutines, OfHermesInCoroutines()):
        assert bindings.recognised(found) is HERMES
    for found in (OfNobodyInCoroutines, OfNobodyInCoroutines()):
        assert bindings.recognised(found) is NATIVE
