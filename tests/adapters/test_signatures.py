"""Calling by signature: the shapes of published Hermes hooks, and every kind of callable."""

import functools
import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memproto.adapters.hermes import from_hermes
from memproto.adapters.signatures import UNKNOWN, binding_of, call_with_accepted

SESSION = {"home": "/h/own", "platform": "telegram", "deadlines": {}}
MESSAGES = [{"role": "user", "content": "hi"}]
ANY = object()


class Bare:
    """As little as a Hermes provider can have."""

    name = "bare"

    def is_available(self):
        return True

    def initialize(self, session_id, **kwargs):
        """Nothing to set up."""

    def prefetch(self, query, *, session_id=""):
        return ""


def with_hook(hook, parameters):
    """A `Bare` whose `hook` has these parameters and returns what each of them received."""
    scope = {}
    exec(f"def {hook}(self{parameters and ','}{parameters}):\n    return_(locals())", scope)

    seen = []
    scope["return_"] = lambda values: seen.append(
        {k: v for k, v in values.items() if k != "self"},
    )
    provider = type("Shaped", (Bare,), {hook: scope[hook]})()
    return provider, seen


def opened(provider, config=SESSION):
    adapter = from_hermes(provider)
    adapter.initialize("s-1", config)
    return adapter


MSGS = [{"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}]

SYNC_SHAPES = {
    "u,a,*,session_id='',messages=None": {"u": "u", "a": "a", "messages": MSGS},
    "user_content,assistant_content,*,session_id=''": {"user_content": "u"},
    "u,a,*,session_id='',messages=None,turn_author='x'": {"turn_author": None},
    "u,a,*,session_id='',messages=None,turn_author='x',**kwargs": {"kwargs": {}},
    "u,a,*,session_id='',turn_id=''": {"turn_id": ANY},
    "u,a,session_id=''": {"u": "u", "a": "a"},
    "user_message,assistant_response,**kwargs": {
        "kwargs": {"session_id": "s-1", "messages": MSGS},
    },
    "u,a,*,session_id='',messages=None,**_": {"messages": MSGS, "_": {}},
    "user,assistant,*,session_id='',messages=None": {"user": "u", "assistant": "a"},
    "u,a,*,session_id='',turn_id='',**_": {"turn_id": ANY, "_": {"messages": MSGS}},
    "u,a,metadata=None,session_id='',messages=None,**kwargs": {"metadata": None, "kwargs": {}},
}


@pytest.mark.parametrize("parameters", SYNC_SHAPES)
def test_a_turn_is_recorded_through_every_published_shape_of_sync_turn(parameters):
    provider, seen = with_hook("sync_turn", parameters)
    opened(provider).on_turn_complete("u", "a")
    [received] = seen
    for name, value in SYNC_SHAPES[parameters].items():
        assert received[name] if value is ANY else received[name] == value
    if "session_id" in parameters:
        assert received["session_id"] == "s-1"


def test_every_turn_has_an_id_of_its_own():
    provider, seen = with_hook("sync_turn", "u,a,*,turn_id")
    adapter = opened(provider)
    adapter.on_turn_complete("u", "a")
    adapter.on_turn_complete("u", "a")
    assert len({call["turn_id"] for call in seen}) == 2


def test_a_sync_turn_that_requires_what_no_host_gives_raises_its_own_type_error():
    provider, _ = with_hook("sync_turn", "u,a,*,tenant")
    with pytest.raises(TypeError, match="tenant"):
        opened(provider).on_turn_complete("u", "a")


PREFETCH_SHAPES = {
    "query,*,session_id=''": {"query": "q", "session_id": "s-1"},
    "query,domain=None,tag=None,exclude_tags=None,**kwargs": {"kwargs": {"session_id": "s-1"}},
    "query,**kwargs": {"kwargs": {"session_id": "s-1"}},
    "query,*,session_id='',**kwargs": {"session_id": "s-1", "kwargs": {}},
    "query": {"query": "q"},
    "user_message,peer_contexts=None,active_context=None,query='',session_id='',**kwargs": {
        "user_message": "q",
        "peer_contexts": None,
        "query": "",
        "session_id": "s-1",
    },
    "query,*,session_id='',limit=5": {"session_id": "s-1", "limit": 5},
}


@pytest.mark.parametrize("parameters", PREFETCH_SHAPES)
def test_recall_reaches_every_published_shape_of_prefetch(parameters):
    provider, seen = with_hook("prefetch", parameters)
    assert opened(provider).enrich_turn("q", MESSAGES) is None
    assert seen[0].items() >= PREFETCH_SHAPES[parameters].items()


METADATA = {
    "old_text": "old",
    "session_id": "s-1",
    "platform": "telegram",
    "write_origin": "memory_tool",
    "tool_name": "memory",
}
WRITE_SHAPES = {
    "action,target,content,metadata=None": {"metadata": METADATA},
    "action,target,content": {},
    "action,target,content,**kwargs": {"kwargs": {"metadata": METADATA}},
    "action,target,content,metadata=None,**kwargs": {"metadata": METADATA, "kwargs": {}},
    "action,target,content,_provenance=None": {"_provenance": METADATA},
    "action,target,content,extra=None,**kwargs": {
        "extra": None,
        "kwargs": {"metadata": METADATA},
    },
    "action,target,content,*,metadata": {"metadata": METADATA},
    "action,target,content,*,unrelated=None": {"unrelated": None},
}


@pytest.mark.parametrize("parameters", WRITE_SHAPES)
def test_a_write_is_mirrored_through_every_shape_of_on_memory_write(parameters):
    provider, seen = with_hook("on_memory_write", parameters)
    opened(provider).on_memory_write("replace", "user", "new", "old")
    expected = {"action": "replace", "target": "user", "content": "new"}
    assert seen == [{**expected, **WRITE_SHAPES[parameters]}]


def test_a_removal_has_the_text_empty_and_an_add_has_no_old_text():
    provider, seen = with_hook("on_memory_write", "action,target,content,metadata=None")
    adapter = opened(provider)
    adapter.on_memory_write("remove", "memory", None, "old")
    adapter.on_memory_write("add", "memory", "new")
    assert seen[0]["content"] == ""
    assert "old_text" not in seen[1]["metadata"]


@pytest.mark.parametrize(
    "parameters",
    ["tool_name,args,**kwargs", "name,args", "name,args,**_", "tool_name,arguments,**kwargs"],
)
def test_a_tool_is_called_through_every_shape_of_handle_tool_call(parameters):
    provider, seen = with_hook("handle_tool_call", parameters)
    opened(provider).handle_tool_call("look", {"a": 1}, depth=2)
    assert list(seen[0].values())[:2] == ["look", {"a": 1}]
    assert list(seen[0].values())[2:] == ([{"depth": 2}] if "**" in parameters else [])


#: The author of a turn of a session without a user, as the newest release tells it.
NOBODY = {"author_id": None, "author_name": None, "author_is_bot": False}

EXTENSION_CALLS = [
    ("on_turn_start", "turn,message,model", (3, "m"), {"model": "x"}, [3, "m", "x"]),
    (
        "on_turn_start",
        "turn,message,**kw",
        (3, "m"),
        {"model": "x"},
        [3, "m", NOBODY | {"model": "x"}],
    ),
    ("on_turn_start", "turn_number,message", (3, "m"), {"model": "x"}, [3, "m"]),
    ("on_session_end", "messages", (MESSAGES,), {}, [MESSAGES]),
    ("on_session_end", "messages,**_", (MESSAGES,), {}, [MESSAGES, {}]),
    ("on_session_switch", "session_id,**_", ("s-2",), {"reset": True}, ["s-2", {"reset": True}]),
    ("on_session_switch", "new_id,*,reset=False", ("s-2",), {"rewound": True}, ["s-2", False]),
    ("on_delegation", "task,result,*,child_session_id=''", ("t", "r"), {}, ["t", "r", ""]),
    ("queue_prefetch", "query,*,session_id=''", ("q",), {}, ["q", "s-1"]),
    ("queue_prefetch", "query,session_id", ("q",), {"session_id": "s-9"}, ["q", "s-9"]),
    ("save_config", "values,hermes_home", ({"k": 1}, "/h"), {}, [{"k": 1}, "/h"]),
    ("save_config", "values,hermes_home,**_", ({"k": 1}, "/h"), {}, [{"k": 1}, "/h", {}]),
    ("post_setup", "hermes_home,config", ("/h", {}), {}, ["/h", {}]),
    ("get_config_schema", "", (), {}, []),
    ("get_tool_schemas", "**_", (), {}, [{}]),
    ("backup_paths", "", (), {}, []),
    ("system_prompt_block", "", (), {}, []),
    ("recall_status", "", (), {}, []),
    ("unavailable_reason", "", (), {}, []),
]


@pytest.mark.parametrize(("hook", "parameters", "args", "keywords", "received"), EXTENSION_CALLS)
def test_an_extension_hook_gets_what_it_takes(hook, parameters, args, keywords, received):
    provider, seen = with_hook(hook, parameters)
    getattr(opened(provider), hook)(*args, **keywords)
    assert [list(call.values()) for call in seen] == [received]


@pytest.mark.parametrize("hook", sorted({row[0] for row in EXTENSION_CALLS} | {"compress_notes"}))
def test_an_extension_hook_is_absent_where_the_provider_lacks_it(hook):
    assert not hasattr(from_hermes(Bare()), hook)


def test_an_initialize_without_keywords_gets_only_what_it_names():
    provider, seen = with_hook("initialize", "session_id,peer_ids=None,hermes_home=''")
    opened(provider, {**SESSION, "x_new": 1})
    assert seen == [{"session_id": "s-1", "peer_ids": None, "hermes_home": "/h/own"}]


# -- binding --------------------------------------------------------------------------------------


def test_a_callable_that_cannot_be_inspected_gets_its_positions_only():
    assert binding_of(dict) is UNKNOWN
    assert call_with_accepted(dict, [[("a", 1)]], {"b": 2}) == {"a": 1}


def test_a_keyword_is_not_given_to_a_parameter_that_a_position_filled():
    def hook(query, /, session_id="", **kwargs):
        return query, session_id, kwargs

    given_ = {"query": "k", "session_id": "k"}
    assert call_with_accepted(hook, ["q"], given_) == ("q", "k", {"query": "k"})
    assert call_with_accepted(hook, ["q", "s"], given_) == ("q", "s", {"query": "k"})


def test_one_function_reads_differently_bound_and_unbound():
    assert binding_of(Bare.prefetch).positions == ("self", "query")
    assert binding_of(Bare().prefetch).positions == ("query",)
    assert binding_of(Bare.prefetch).positions == ("self", "query")


def test_a_signature_is_inspected_once_for_all_instances(monkeypatch):
    provider, _ = with_hook("sync_turn", "u,a")
    inspected, real = [], inspect.signature
    monkeypatch.setattr(inspect, "signature", lambda f: inspected.append(f) or real(f))
    for instance in (provider, type(provider)()):
        call_with_accepted(instance.sync_turn, ["u", "a"], {"messages": []})
    assert len(inspected) == 1


class CallsItself:
    def __call__(self, query, *, session_id):
        return query, session_id


@pytest.mark.parametrize(
    "hook",
    [
        CallsItself(),
        CallsItself().__call__,
        functools.partial(lambda x, query, *, session_id: (query, session_id), 0),
        functools.wraps(Bare.prefetch)(lambda self, query, **kw: (query, kw["session_id"])).__get__(
            0,
        ),
        classmethod(lambda cls, query, *, session_id: (query, session_id)).__get__(None, Bare),
    ],
)
def test_every_kind_of_callable_is_called_by_its_own_signature(hook):
    assert call_with_accepted(hook, ["q"], {"session_id": "s", "x": 1}) == ("q", "s")


NAMES = st.lists(st.sampled_from("abcdef"), unique=True, max_size=4)


@given(NAMES, NAMES, st.booleans(), st.dictionaries(st.sampled_from("abcdefgh"), st.integers()))
def test_no_call_ever_fails_for_a_keyword_that_is_not_taken(first, later, open_, keywords):
    later = [f"{n}=None" for n in later if n not in first]
    parameters = [*first, *(["*", *later] if later else []), *(["**rest"] if open_ else [])]
    hook = eval(f"lambda {','.join(parameters)}: dict(locals())")
    received = call_with_accepted(hook, range(len(first)), keywords)
    assert [received[name] for name in first] == list(range(len(first)))
    taken = {k for k in keywords if k not in first and (open_ or f"{k}=None" in later)}
    flat = {**received, **received.get("rest", {})}
    assert {k for k in taken if flat[k] == keywords[k]} == taken
