"""A name of the kit that stands for other code is seen, by a look at memory or without one."""

import ast
import builtins
import contextlib
import os
import platform
import resource
import subprocess
import sys
import types
from pathlib import Path

import psutil
import pytest

import memproto
from memproto.testing import addresses, integrity

KIT = Path(memproto.__file__).parent

CODE = """\
LIMITS = (1, 2)

def judged(result):
    return result

def other(result):
    return "pass"

class Wire:
    def send(self, message):
        return message

    def kept(self, message):
        return message

    @property
    def name(self):
        return "wire"

    @staticmethod
    def sealed(text):
        return text

    told = send

also = judged
"""

LOOKS_AT_THE_KIT = """\
import contextlib, importlib, pkgutil
from memproto import testing
from memproto.testing import addresses, integrity

for found in pkgutil.walk_packages(testing.__path__, "memproto.testing."):
    # An adapter whose framework is not installed is no part of the kit that is loaded.
    with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module(found.name)
looks = []
made = addresses.watcher
addresses.watcher = lambda *given: looks.append(made(*given)) or bool
# Who looks keeps all that is looked at: of what is let go the memory is used again.
changed = integrity.watcher()
[is_untouched] = looks
print(is_untouched(), is_untouched(), changed())
"""


@pytest.fixture
def toy(monkeypatch):
    """A module that counts as one of the kit."""
    module = types.ModuleType("memproto.toy_of_a_test")
    exec(CODE, vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    # The rest of the kit is not what is looked at: other tests may change it meanwhile.
    monkeypatch.setattr(integrity, "_KIT", module.__name__)
    return module


@pytest.fixture(params=["memory", "objects"])
def watched(request, toy, monkeypatch):
    """The toy, and what lists the changes in it, with a look at memory or without."""
    if request.param == "objects":
        monkeypatch.setattr(addresses, "watcher", lambda *_: bool)
    return toy, integrity.watcher()


def other_code(function):
    function.__code__ = (lambda result: "pass").__code__


CHANGES = {
    "a function": (lambda toy: setattr(toy, "judged", toy.other), "judged"),
    "the code of a function": (lambda toy: other_code(toy.other), "other"),
    "a constant": (lambda toy: setattr(toy, "LIMITS", (1, 3)), "LIMITS"),
    "a class": (lambda toy: setattr(toy, "Wire", int), "Wire"),
    "a method": (lambda toy: setattr(toy.Wire, "send", toy.other), "Wire.send"),
    "the code of a method": (lambda toy: other_code(toy.Wire.kept), "Wire.kept"),
    "the code of a property": (lambda toy: other_code(toy.Wire.name.fget), "Wire.name"),
    "the code of a static method": (lambda toy: other_code(toy.Wire.sealed), "Wire.sealed"),
    "a name that is gone": (lambda toy: delattr(toy, "judged"), "judged"),
    "another name of a function": (lambda toy: setattr(toy, "also", toy.other), "also"),
    "another name of a method": (lambda toy: setattr(toy.Wire, "told", toy.other), "Wire.told"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_listed(watched, change):
    toy, changed = watched
    assert changed() == []
    made, name = CHANGES[change]
    made(toy)
    assert changed() == [f"{toy.__name__}.{name}"]


def test_replaced_builtins_hide_no_change(watched, monkeypatch):
    toy, changed = watched
    toy.judged = toy.other
    lies = {
        "all": lambda _: True,
        "any": lambda _: False,
        "map": lambda *_: [],
        "bool": lambda _: 1,
    }
    for name, lie in lies.items():
        monkeypatch.setattr(builtins, name, lie)
    found = changed()
    monkeypatch.undo()
    assert found == [f"{toy.__name__}.judged"]


def test_a_change_that_is_undone_is_none(watched):
    toy, changed = watched
    former = toy.judged
    toy.judged = toy.other
    assert changed()
    toy.judged = former
    assert changed() == []


def test_new_names_and_other_values_are_no_change(watched):
    toy, changed = watched
    toy.judged.cache = []
    for number in range(1000):
        setattr(toy, f"added_{number}", number)
        setattr(toy.Wire, f"added_{number}", number)
    assert changed() == []


@pytest.mark.skipif(
    sys.platform != "linux" or platform.python_implementation() != "CPython",
    reason="elsewhere the objects are compared",
)
def test_the_look_at_memory_is_to_be_had_here_and_says_true_of_the_whole_kit():
    # In a process of its own: a thread that an earlier test left behind may load a module of the
    # kit between two looks, and the look then says rightly that something is new.
    look = [sys.executable, "-P", "-c", LOOKS_AT_THE_KIT]
    looked = subprocess.run(look, capture_output=True, text=True, timeout=60, check=False)
    assert (looked.stdout.split(), looked.stderr) == (["True", "True", "[]"], "")


@pytest.mark.skipif(sys.platform != "linux", reason="without pipe2 the objects are compared")
def test_without_a_free_descriptor_the_objects_are_compared(watched):
    toy, changed = watched
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
    try:
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        before = changed()
        toy.judged = toy.other
        after = changed()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in taken:
            os.close(descriptor)
    assert (before, after) == ([], [f"{toy.__name__}.judged"])


def test_no_function_of_the_kit_gives_a_global_name_another_value():
    # In each child the look at memory would show a change, and all objects were compared.
    found = [
        f"{path.relative_to(KIT)}:{node.lineno}"
        for path in KIT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Global)
    ]
    assert found == []


def test_the_look_leaves_no_descriptor_open(watched):
    _, changed = watched
    process = psutil.Process()
    before = process.num_fds()
    for _ in range(10):
        changed()
    assert process.num_fds() == before
