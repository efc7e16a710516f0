"""The document of a tool's answer: a refusal as the schema says, for every reader of one."""

import itertools
import json

import pytest
from jsonschema import Draft202012Validator

from memproto import spec
from memproto.adapters import tool_results
from memproto.adapters.tool_results import is_refusal
from memproto.serving import mcp

NAMES = ("error", "success", "ok", "status", "isError", "is_error", "content")
VALUES = (None, False, True, "", "no room", "error", "failed", "failure", "ok", [], ["x"], {})
DOCUMENTS = [
    *("refused", 3, None, [], ["error"], {}),
    *({name: value} for name, value in itertools.product(NAMES, VALUES)),
]


@pytest.mark.parametrize("document", DOCUMENTS, ids=json.dumps)
def test_a_refusal_is_one_by_the_schema(document):
    schema = spec.schema("tool-result")
    refusal = Draft202012Validator({**schema["$defs"]["refusal"], "$defs": schema["$defs"]})
    expected = refusal.is_valid(document)
    assert is_refusal(document) is expected
    assert tool_results.refused(json.dumps(document)) is expected
    assert mcp._is_error(json.dumps(document)) is expected


def test_an_answer_that_is_no_document_is_an_error_to_an_mcp_client():
    assert mcp._is_error("stored")
    assert not tool_results.refused("stored")
