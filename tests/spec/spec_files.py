"""The files of the specification, for the tests that hold them together."""

import json
from pathlib import Path

import jsonschema

SPEC = Path(__file__).parents[2] / "spec" / "v1"
SCHEMAS = {
    path.name.removesuffix(".schema.json"): json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((SPEC / "schemas").glob("*.json"))
}


def errors_of(schema: str, document: object) -> list[tuple[str, str]]:
    """Key word and place of each fault of a document."""
    validator = jsonschema.Draft202012Validator(SCHEMAS[schema])
    return [(str(error.validator), error.json_path) for error in validator.iter_errors(document)]
