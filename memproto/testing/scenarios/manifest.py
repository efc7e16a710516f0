"""The plugin.yaml that stands beside a provider's module."""

import importlib
import inspect
import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from memproto.testing import locate
from memproto.testing.clauses import Untestable
from memproto.testing.needs import Install, Setting
from memproto.testing.provider.subject import HookRaised, Subject

#: plugin.yaml of a package is in its folder, or in a folder above a provider's own module.
_LEVELS = 2


def beside(provider: Any) -> Path | None:
    """The plugin.yaml of a provider's class, or of one that it is built on in the same package."""
    kind = locate.kind_of(provider)
    for base in kind.__mro__:
        if base.__module__.partition(".")[0] == kind.__module__.partition(".")[0]:
            for folder in _folders(base):
                if (folder / "plugin.yaml").is_file():
                    return folder / "plugin.yaml"
    return None


def _folders(kind: type) -> Iterator[Path]:
    """The folders of a class's packages, its own first; never one that is no package."""
    try:
        folder = Path(inspect.getfile(kind)).parent
    except (TypeError, OSError):
        return
    for _ in range(_LEVELS):
        if (folder / "__init__.py").is_file():
            yield folder
        folder = folder.parent


def read(path: Path) -> Any:
    """
    The content of the file, JSON or other YAML.

    Raises:
        ValueError: It cannot be parsed; the message says where.
        Untestable: PyYAML is not installed.

    """
    text = path.read_text("utf-8-sig")
    try:
        return json.loads(text)
    except ValueError:
        return _as_yaml(text)


def _as_yaml(text: str) -> Any:
    try:
        yaml = sys.modules.get("yaml") or importlib.import_module("yaml")
    except ModuleNotFoundError:
        raise Untestable("plugin.yaml cannot be read", (Install("PyYAML"),)) from None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None


# -- needed ----------------------------------------------------------------------------------------

# Settings that would make a provider available: read off what it asks for at set-up.


#: The values of `config` arrive at initialize, after the question if the provider is available.
_ANY = (Setting("env"), Setting("factory", that="that puts in place what is_available() looks for"))
_SAVED = "that saves what is_available() reads, asked for at set-up: {}"
_PROGRAM = "with a PATH that leads to the program {}, which plugin.yaml names"


def settings(subject: Subject) -> tuple[Setting, ...]:
    """
    The variables that the provider wants and the environment lacks, as settings that give them.

    Read off `get_config_schema` (what is required and has a variable, else secrets that have one)
    and off `requires_env` of its plugin.yaml. If neither names one, it is read off
    `unavailable_reason`, and the settings that might do stand beside it.
    A program of its plugin.yaml that is not installed comes first, and stands alone where nothing
    else is required.
    """
    programs = tuple(
        Setting("env", that=_PROGRAM.format(name))
        for name in _listed(subject, "external_dependencies")
        if shutil.which(name) is None
    )
    fields, variables = _fields(subject), _listed(subject, "requires_env")
    if programs and not variables and not any(item.get("required") for item in fields):
        return programs
    given = _given(fields, variables)
    told = [name for name in _told(subject) if not os.environ.get(name)]
    if told and not any(setting.value for setting in given):
        given = (*_from_environment(told), *(one for one in given if one.name != "env"))
    return (*programs, *given)


#: A variable as a sentence names it: capitals with a line between them.
_VARIABLE = re.compile(r"(?<![\w.])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?!\w)")


def _told(subject: Subject) -> list[str]:
    """The variables that a provider names where it says why it is not available."""
    try:
        reason = subject.unavailable_reason() if subject.has("unavailable_reason") else ""
    except HookRaised:
        return []
    return list(dict.fromkeys(_VARIABLE.findall(reason))) if isinstance(reason, str) else []


def _from_environment(names: Iterable[str]) -> tuple[Setting, ...]:
    pairs = [f'{name} = {{from_env = "{name}"}}' for name in dict.fromkeys(names)]
    return (Setting("env", value=f"{{{', '.join(pairs)}}}"),) if pairs else ()


def _given(fields: list[dict[str, Any]], variables: list[str]) -> tuple[Setting, ...]:
    named = [*_variables(fields), *variables]
    wanted = [name for name in named if not os.environ.get(name)]
    if not wanted:
        return _keys(fields)
    (setting,) = _from_environment(wanted)
    required = [item for item in fields if item.get("required") is True]
    if not required or _variables(required) or variables:
        return (setting,)
    # The secrets are optional, so that what is required may be all that is looked for.
    return (setting, *_keys(required))


def missing(subject: Subject, config: Mapping[str, Any]) -> list[str]:
    """
    Names that the config schema requires, gives no default for, and nobody has given.

    A value that is required under a condition only is not among them.
    """
    required = [
        item
        for item in _fields(subject)
        if item.get("required") is True
        and item.get("default") in (None, "")
        and not item.get("when")
        and not item.get("default_from")
    ]
    names = [(str(item.get("key")), item.get("env_var")) for item in required]
    return [
        str(variable or key)
        for key, variable in names
        if key not in config and not (variable and os.environ.get(str(variable)))
    ]


def _fields(subject: Subject) -> list[dict[str, Any]]:
    try:
        fields = subject.config_schema() if subject.has("config_schema") else []
    except HookRaised:
        return []
    return [item for item in fields if isinstance(item, dict)] if _is_list(fields) else []


def _variables(fields: list[dict[str, Any]]) -> list[str]:
    named = [item for item in fields if isinstance(item.get("env_var"), str) and item["env_var"]]
    required = [item for item in named if item.get("required")]
    secret = [item for item in named if item.get("secret")]
    return [item["env_var"] for item in required or secret]


def _keys(fields: list[dict[str, Any]]) -> tuple[Setting, ...]:
    """Advice on answers without a variable, which save_config writes and the provider reads."""
    keys = [str(item.get("key")) for item in fields if item.get("key") and not item.get("env_var")]
    return (Setting("factory", that=_SAVED.format(", ".join(keys))),) if keys else _ANY


def _listed(subject: Subject, key: str) -> list[str]:
    """The names in a list of the provider's plugin.yaml."""
    path = beside(subject.provider)
    try:
        content = read(path) if path else {}
    except (Untestable, ValueError):
        return []
    listed = content.get(key) if isinstance(content, dict) else None
    if not isinstance(listed, list | tuple):
        return []
    named = [item.get("name") if isinstance(item, dict) else item for item in listed]
    return [name for name in named if isinstance(name, str)]


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)
