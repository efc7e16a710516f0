"""The shape of a JSON value as lines, `items[].id: str`; whether another value has that shape."""

from collections.abc import Iterator

#: Keys whose content is the client's own, or the server's own words for a fault.
OPAQUE = frozenset({"metadata", "configuration", "ctx", "input", "error"})

#: The keys below these are names, and each leads to the same.
NAMED = frozenset({"sessions"})

KINDS = {type(None): "null", bool: "bool", int: "int", float: "float", str: "str", list: "list"}


def kind(value):
    """The type of a value as the table names it."""
    return "object" if isinstance(value, dict) else KINDS[type(value)]


def walk(value, path="", key="") -> Iterator[tuple[str, str, frozenset[str]]]:
    """Path, type, and the keys below, of a value and of all within it."""
    keys = list(value) if isinstance(value, dict) and key not in OPAQUE else []
    keys = ["*" for _ in keys] if key in NAMED else keys
    yield path, kind(value), frozenset(keys)
    if isinstance(value, list) and key not in OPAQUE:
        for part in value:
            yield from walk(part, f"{path}[]", key)
    for name, below in zip(keys, value.values() if keys else (), strict=True):
        yield from walk(below, f"{path}.{name}".lstrip("."), name)


def lines(values):
    """The one shape that all of `values` have; a key that one of them lacks is marked with `?`."""
    kinds, present, holders = {}, {}, {}
    for value in values:
        for path, name, keys in walk(value):
            kinds.setdefault(path, set()).add(name)
            if name == "object":
                holders[path] = holders.get(path, 0) + 1
            for key in keys:
                below = f"{path}.{key}".lstrip(".")
                present[below] = present.get(below, 0) + 1
    marks = {path: "?" if _is_optional(path, present, holders) else "" for path in kinds}
    return [f"{path}{marks[path]}: {' | '.join(sorted(kinds[path]))}" for path in sorted(kinds)]


def _is_optional(path, present, holders):
    above, _, key = path.rpartition(".")
    return path in present and key != "*" and present[path] < holders.get(above, 0)


def parse(shape):
    """Path to types and whether it may be absent."""
    known = {}
    for line in shape:
        path, _, names = line.rpartition(": ")
        known[path.rstrip("?")] = (set(names.split(" | ")), path.endswith("?"))
    return known


def faults(value, shape):
    """Parts of a value that are not as `shape` has them."""
    known, found = parse(shape), []
    for path, name, keys in walk(value):
        if path not in known:
            found.append(f"{path!r} is unknown")
        elif name not in known[path][0]:
            found.append(f"{path!r} is {name}, of {sorted(known[path][0])}")
        if name == "object" and keys != {"*"}:
            found += [f"{path!r} lacks {key!r}" for key in sorted(_needed(path, known) - keys)]
    return found


def _needed(path, known):
    """The keys that an object at `path` has in each recorded answer."""
    below = {}
    for each, (_, is_optional) in known.items():
        above, _, key = each.rpartition(".")
        if above == path and key and not key.endswith("[]") and not is_optional:
            below[key] = each
    return set(below) - {"*"}
