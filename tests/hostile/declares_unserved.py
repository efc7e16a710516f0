"""Declares an extension that it has no hook of."""

from typing import Any

from tests.good.journal import Journal


class DeclaresUnserved(Journal):
    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "extensions": ["privacy"]}
