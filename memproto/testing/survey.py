"""What a provider declares, and which routes bring a fact back: found at first contact."""

from typing import Any

from memproto.testing import routes
from memproto.testing.run import Run


def survey(run: Run) -> dict[str, Any]:
    """
    The provider's declarations, and for each route whether it is declared, observed or absent.

    Where `stores` is declared the declaration counts; else every route is tried.
    """
    capabilities = _capabilities(run)
    found: dict[str, str] = {}
    for number, route in enumerate(routes.ROUTES):
        if "stores" in capabilities:
            found[route] = "declared" if route in capabilities["stores"] else "absent"
        else:
            found[route] = "observed" if _comes_back(run, route, number) else "absent"
    return {"capabilities": capabilities, "routes": found}


def _comes_back(run: Run, route: str, number: int) -> bool:
    home = run.place(f"survey-{number}") if run.binding == "native" else run.home
    return routes.survey(lambda: run.session(home), run.facts.new(), route)


def _capabilities(run: Run) -> dict[str, Any]:
    with run.session(run.place("declare") if run.binding == "native" else run.home) as subject:
        declared = subject.declare()
    return plain(declared) if isinstance(declared, dict) else {}


def plain(value: Any) -> Any:
    """`value` with sets and tuples as sorted lists, so that it fits into JSON and a schema."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted((plain(item) for item in value), key=str)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool) or value is None else repr(value)
