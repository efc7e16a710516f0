import collections
import threading
import types

from hypothesis import given, settings
from hypothesis import strategies as st

from memproto.registry.messages import copied, copied_messages, copier

scalars = st.sampled_from([None, True, 7, 0.5, "", "text", "\0 \ud800"])
keys = st.sampled_from(["role", "content", "text"])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner) | st.dictionaries(keys, inner) | st.tuples(inner, inner),
    max_leaves=6,
)
messages = st.lists(st.dictionaries(keys, scalars | values) | st.just("no message"), max_size=4)


def containers(value):
    """The ids of every dict and list in `value`."""
    if isinstance(value, dict):
        return {id(value)}.union(*map(containers, value.values()))
    if isinstance(value, list | tuple):
        own = {id(value)} if isinstance(value, list) else set()
        return own.union(*map(containers, value))
    return set()


@given(messages)
@settings(deadline=None, max_examples=60)
def test_each_copy_is_equal_and_shares_nothing_that_can_change(history):
    copy = copier(history)
    first, second = copy(), copy()
    assert first == second == history
    assert not containers(first) & containers(history)
    assert not containers(first) & containers(second)


def test_mappings_of_other_kinds_are_copied_into_dicts():
    content = types.MappingProxyType({"type": "text", "text": "x"})
    for kind in (collections.OrderedDict, collections.UserDict, dict):
        message = kind(role="user", content=[content])
        (copy,) = copied_messages([message])
        assert (type(copy), copy) == (dict, {"role": "user", "content": [dict(content)]})


def test_parts_in_a_tuple_are_copied():
    part = {"type": "text", "text": "x"}
    (copy,) = copied_messages([{"role": "user", "content": (part, part)}])
    copy["content"][0]["text"] = "changed"
    assert part["text"] == "x"
    assert type(copy["content"]) is tuple


def test_a_value_that_holds_itself_twice_is_copied_once():
    message = {"role": "user"}
    message["left"] = message["right"] = [message, message]
    (copy,) = copied_messages([message])
    assert copy is not message
    assert copy["left"][0] is copy
    assert copy["left"] is copy["right"]


def test_a_value_that_doubles_in_every_layer_is_copied_in_no_time():
    value = ["x"]
    for _ in range(60):
        value = [value, value]
    assert copied({"content": value}) is not None


def test_objects_that_are_no_json_are_shared():
    lock = threading.Lock()
    assert copied({"lock": [lock]})["lock"] == [lock]
    assert copied({1, 2}) == {1, 2}
