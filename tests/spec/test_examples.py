"""Each schema of the specification is valid, and its examples have the faults of their names."""

import json

import jsonschema
import pytest

from memproto import spec
from tests.spec.spec_files import SCHEMAS, SPEC, errors_of

pytestmark = pytest.mark.once

#: Invalid example to the one thing that is wrong with it: key word of the schema, and where.
FAULTS = {
    "capabilities/freshness-of-zero": ("exclusiveMinimum", "$.consistency.eventual.freshness_s"),
    "capabilities/tool-named-twice": ("uniqueItems", "$.tool_names"),
    "capabilities/tool-names-is-a-str": ("type", "$.tool_names"),
    "capabilities/unknown-key": ("additionalProperties", "$"),
    "capabilities/unknown-mirrored-target": ("enum", "$.mirrors"),
    "capabilities/unknown-route": ("enum", "$.stores[0]"),
    "config-field/key-missing": ("required", "$"),
    "config-field/no-choice-at-all": ("minItems", "$.choices"),
    "config-field/secret-is-a-word": ("type", "$.secret"),
    "config-field/secret-with-a-default": ("enum", "$.default"),
    "config-field/variable-with-a-dash": ("pattern", "$.env_var"),
    "export/a-list-of-texts": ("type", "$.items[0]"),
    "export/item-without-a-time": ("required", "$.items[0]"),
    "forget-result/pending-missing": ("required", "$"),
    "forget-result/removed-is-a-word": ("type", "$.removed"),
    "lifecycle/hook-for-an-operation": ("enum", "$.state[0].calls[0]"),
    "lifecycle/move-from-nowhere": ("minItems", "$.move[0].from"),
    "lifecycle/unknown-outcome": ("enum", "$.move[0].outcome"),
    "memory-write/add-without-content": ("required", "$"),
    "memory-write/content-is-a-list": ("type", "$.content"),
    "memory-write/replace-without-old-text": ("required", "$"),
    "memory-write/unknown-action": ("enum", "$.action"),
    "message/content-is-a-number": ("type", "$.content"),
    "message/role-missing": ("required", "$"),
    "message/text-part-without-text": ("required", "$.content[0]"),
    "plugin-manifest/dependency-without-name": ("required", "$.external_dependencies[0]"),
    "plugin-manifest/name-with-a-space": ("pattern", "$.name"),
    "plugin-manifest/variable-with-a-dash": ("pattern", "$.requires_env[0]"),
    "plugin-manifest/version-is-a-number": ("type", "$.version"),
    "recall-items/item-without-text": ("required", "$.items[0]"),
    "recall-items/time-without-offset": ("pattern", "$.items[0].created_at"),
    "recall-items/unknown-status": ("enum", "$.status"),
    "recall-request/budget-below-zero": ("minimum", "$.budget_chars"),
    "recall-request/query-missing": ("required", "$"),
    "recorded-turn/author-is-a-name": ("type", "$.author"),
    "recorded-turn/id-missing": ("required", "$"),
    "recorded-turn/time-without-offset": ("pattern", "$.started_at"),
    "recall-status/a-count-in-words": ("type", "$.recalled"),
    "recall-status/message-of-two-lines": ("pattern", "$.message"),
    "recall-status/state-missing": ("required", "$"),
    "recall-status/unknown-key": ("additionalProperties", "$"),
    "recall-status/unknown-state": ("enum", "$.state"),
    "report/a-score": ("additionalProperties", "$.reports[0]"),
    "report/budget-of-zero": ("exclusiveMinimum", "$.reports[0].operations.recall.budget_s"),
    "report/host-with-binding": ("const", "$.reports[0].binding"),
    "report/isolates-of-an-unknown-boundary": ("enum", "$.reports[0].isolates[0]"),
    "report/outcome-not-counted": ("required", "$.reports[0].counts"),
    "report/result-without-reproduce": ("required", "$.reports[0].results[0]"),
    "report/short-fingerprint": ("pattern", "$.reports[0].fingerprint"),
    "report/unknown-exit-code": ("enum", "$.exit_code"),
    "report/unknown-outcome": ("enum", "$.reports[0].results[0].outcome"),
    "report/unknown-verdict": ("enum", "$.reports[0].verdict"),
    "requirements/class-that-there-is-not": ("enum", "$.requirement[0].class"),
    "requirements/defensive-must": ("const", "$.requirement[0].level"),
    "requirements/host-id-on-a-provider": ("not", "$.requirement[0].id"),
    "requirements/host-with-a-class": ("not", "$.requirement[0]"),
    "requirements/id-without-number": ("pattern", "$.requirement[0].id"),
    "requirements/provider-without-a-class": ("required", "$.requirement[0]"),
    "requirements/text-without-key-word": ("pattern", "$.requirement[0].text"),
    "requirements/unknown-source": ("pattern", "$.requirement[0].sources[0]"),
    "scope/session-without-a-name": ("minLength", "$.session_id"),
    "scope/user-is-a-list": ("type", "$.user_id"),
    "settings/backend-in-two-places": ("maxProperties", "$.backend"),
    "settings/backend-is-an-address": ("type", "$.backend"),
    "settings/backend-path-is-empty": ("pattern", "$.backend.config"),
    "settings/cache-above-home": ("not", "$.caches[1]"),
    "settings/cache-is-absolute": ("not", "$.caches[0]"),
    "settings/declares-single-writer": ("additionalProperties", "$.declares"),
    "settings/declares-unknown-retention": ("enum", "$.declares.retention"),
    "settings/env-value-is-a-number": ("type", "$.env.MINE_PORT"),
    "settings/factory-without-colon": ("pattern", "$.factory"),
    "settings/no-hook-call-at-all": ("minimum", "$.max_hook_calls"),
    "settings/no-check-at-a-time": ("minimum", "$.parallel"),
    "settings/service-without-colon": ("pattern", "$.service"),
    "settings/unknown-key": ("additionalProperties", "$"),
    "settings/unknown-key-of-a-target": ("additionalProperties", "$.target.mine"),
    "tool-result/error-is-a-number": ("type", "$.error"),
    "tool-result/success-beside-an-error": ("enum", "$.error"),
    "tool-result/success-is-a-word": ("type", "$.success"),
    "tool-schema/argument-of-a-type-of-python": ("anyOf", "$.parameters.properties.text.type"),
    "tool-schema/choice-at-the-top": ("not", "$.parameters"),
    "tool-schema/list-without-items": ("required", "$.parameters.properties.tags"),
    "tool-schema/name-with-a-dot": ("pattern", "$.name"),
    "tool-schema/nameless": ("required", "$"),
    "tool-schema/reference-in-an-argument": ("not", "$.parameters.properties.text"),
    "tool-schema/wrapped-as-a-function": ("additionalProperties", "$"),
    "trace-event/argument-holds-text": ("additionalProperties", "$.args.user_message"),
    "trace-event/digest-of-nothing": ("pattern", "$.result.digest"),
    "trace-event/error-with-its-message": ("pattern", "$.error"),
    "trace-event/holds-text": ("additionalProperties", "$"),
    "trace-event/raised-without-an-error": ("required", "$"),
    "trace-event/returned-without-a-result": ("required", "$"),
    "trace-event/start-without-a-wall-clock": ("required", "$"),
    "trace-event/unknown-kind": ("enum", "$.kind"),
    "trace-event/unknown-operation": ("enum", "$.operation"),
    "trace-event/unnumbered": ("required", "$"),
    "turn/message-is-null": ("type", "$.user_message"),
    "turn/response-missing": ("required", "$"),
    "report/waiver-without-an-end": ("oneOf", "$.reports[0].results[0].waiver"),
    "report/waivers-of-an-unknown-fault": ("enum", "$.reports[0].waivers.faults[0].kind"),
    "settings/waivers-are-a-list": ("type", "$.waivers"),
    "waivers/a-whole-area": ("pattern", "$"),
    "waivers/a-profile-that-is-none": ("enum", "$['MP-TURN-002'].profile"),
    "waivers/expires-at-a-moment": ("pattern", "$['MP-TURN-002'].expires"),
    "waivers/never-expires": ("pattern", "$['MP-TURN-002'].expires"),
    "waivers/without-a-reason": ("minLength", "$['MP-TURN-002'].reason"),
    "waivers/without-an-owner": ("required", "$['MP-TURN-002']"),
    "wire-message/answer-without-id": ("oneOf", "$"),
    "wire-message/error-without-data": ("oneOf", "$"),
    "wire-message/id-as-text": ("oneOf", "$"),
    "wire-message/result-beside-an-error": ("oneOf", "$"),
}


def examples(kind: str) -> list[str]:
    root = SPEC / "examples" / kind
    return sorted(
        path.relative_to(root).with_suffix("").as_posix() for path in root.glob("*/*.json")
    )


def load(kind: str, example: str) -> object:
    return json.loads((SPEC / "examples" / kind / f"{example}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_schema_is_valid_and_names_itself(name):
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])
    assert SCHEMAS[name]["$id"] == f"urn:memproto:spec:1.0:schema:{name}"
    assert SCHEMAS[name]["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_loader_gives_the_schema_of_that_name(name):
    assert spec.schema(name) == SCHEMAS[name]


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("kind", ["valid", "invalid"])
def test_each_schema_has_two_examples_of_each_kind(kind, name):
    assert len([one for one in examples(kind) if one.startswith(f"{name}/")]) >= 2


@pytest.mark.parametrize("example", examples("valid"))
def test_a_valid_example_validates(example):
    assert errors_of(example.partition("/")[0], load("valid", example)) == []


@pytest.mark.parametrize("example", examples("invalid"))
def test_an_invalid_example_has_the_fault_of_its_name_and_no_other(example):
    assert errors_of(example.partition("/")[0], load("invalid", example)) == [FAULTS[example]]


def test_no_fault_is_listed_without_its_example():
    assert sorted(FAULTS) == examples("invalid")
