"""
A real Honcho server answers as the table has it that the stand-in is held to.

MEMPROTO_HONCHO_URL names a server with embeddings and without a language model, such as the table
calls `plain`; MEMPROTO_HONCHO_URL_KEYLESS, _WORDWISE and _UNREACHED name the other kinds.
"""

import os

import pytest

from tests.reference_providers.honcho.honcho_answers import ROWS, kind, replay

URL = "MEMPROTO_HONCHO_URL"
URLS = {"plain": URL} | {
    name: f"{URL}_{name.upper()}" for name in ("keyless", "wordwise", "unreached")
}
REAL = [row for row in ROWS if os.environ.get(URLS[kind(row)])]

if not REAL:
    pytest.skip(f"{URL} names no real server", allow_module_level=True)


@pytest.mark.parametrize("row", REAL, ids=lambda row: row["name"])
def test_a_real_server_answers_as_the_table_has_it(row):
    assert replay(os.environ[URLS[kind(row)]], row, 1.0) == []
