"""The process of a service: enters the user's context manager, and leaves it when stdin closes."""

import json
import os
import sys
from typing import Any

from memproto.errors import InvalidSettings
from memproto.testing import os_names
from memproto.testing.credential_forms import Hiding, of_variables
from memproto.testing.settings import functions
from memproto.testing.wire import hide_by, show


def main() -> None:
    """
    Serve from the descriptor on the command line, and the function, place and search path after it.

    Writes one line: what was yielded, or `fault`. An end without a line is a fault as well.
    """
    descriptor = sys.argv[1]
    name, place, path = json.loads(sys.argv[2])
    os.set_inheritable(int(descriptor), False)
    hide_by(Hiding(of_variables(os.environ)))
    sys.path[:0] = os_names.heard(path)
    with os.fdopen(int(descriptor), "w", encoding="utf-8") as parent:
        try:
            manager = functions.found("service", name, place)()
            said = _checked(name, manager.__enter__())
        except InvalidSettings as error:
            said, manager = {"fault": error.fault}, None
        except BaseException as error:
            said, manager = {"fault": f"{name} raised {functions.described(error)}"}, None
        parent.write(json.dumps(said) + "\n")
    if "fault" in said:
        sys.stdout.flush()
        # A thread that it started may run on, and is waited for by nobody.
        os._exit(1)
    sys.stdin.buffer.read()
    manager.__exit__(None, None, None)


def _checked(name: str, given: Any) -> dict[str, Any]:
    """The yielded value, if it is of the form that was asked for; else the fault."""
    fault = {"fault": f"{name} yielded {show(given)}"}
    if not isinstance(given, dict) or set(given) - {"env", "config"}:
        return fault
    env, config = given.get("env", {}), given.get("config", {})
    if not isinstance(env, dict) or not isinstance(config, dict):
        return fault
    if not all(isinstance(text, str) for text in (*env, *env.values())):
        return fault
    try:
        return {"env": os_names.told(env), "config": json.loads(json.dumps(config))}
    except (TypeError, ValueError):
        return fault


if __name__ == "__main__":
    main()
