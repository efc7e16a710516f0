"""TLS and tokens of the mentisdb provider: who is trusted, and what is told of it."""

import ssl
from pathlib import Path

import pytest

from memproto.errors import Misconfigured
from memproto.reference_providers.mentisdb.standin_server import StandIn

#: A key and the certificate of it, which signs itself, for 127.0.0.1.
PEM = Path(__file__).with_name("daemon.pem")


@pytest.fixture
def secure():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PEM)
    with StandIn(tls=context, token="right") as daemon:
        yield daemon


def test_a_daemon_that_signs_its_own_certificate_is_trusted_by_its_file(opened, secure):
    chosen = {"url": secure.url, "ca_file": str(PEM), "token": "right"}
    with opened(mentisdb=chosen) as memory:
        memory.on_turn_complete("The boat is blue", "")
        assert memory.enrich_turn("boat", []) == "[Finding] The boat is blue"


def test_an_unknown_certificate_is_not_trusted_and_nothing_is_sent(opened, secure, impatient):
    with opened(mentisdb={"url": secure.url, "token": "right"}) as memory:
        memory.on_turn_complete("The boat is blue", "")
        assert memory.recall_status()["pending_writes"] == 1
        assert memory.unavailable_reason()
    assert secure.requests == []


def test_a_wrong_token_is_told_without_it_and_what_is_stored_waits(opened, secure, caplog):
    wrong = {"url": secure.url, "ca_file": str(PEM), "token": "wr0ng"}
    with caplog.at_level("DEBUG"), opened(mentisdb=wrong) as memory:
        memory.on_turn_complete("The boat is blue", "")
        status = memory.recall_status()
    assert "MENTISDB_TOKEN" in status["message"]
    assert "wr0ng" not in caplog.text + str(status)
    assert "boat" not in caplog.text
    with opened("two", mentisdb={**wrong, "token": "right"}):
        assert [one["content"] for one in secure.all_thoughts()] == ["The boat is blue"]


def test_a_file_that_is_no_certificate_is_refused(opened, tmp_path, secure):
    (tmp_path / "none.pem").write_text("no certificate", "ascii")
    chosen = {"url": secure.url, "ca_file": str(tmp_path / "none.pem")}
    with pytest.raises(Misconfigured, match="ca_file"), opened(mentisdb=chosen):
        pass
