"""
An environment in which the kit lies among the installed packages, as a wheel leaves it.

The kit under test may be installed as a checkout that is followed: then an import of `memproto` is
answered before the path is looked through, and a folder of that name hides nothing.
"""

import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

#: Parts that the wheel takes from elsewhere in a checkout.
_MOVED = ("_spec", "conformance", "reference_providers")


def environment(folder: Path) -> Path:
    """Make such an environment below `folder`, of links alone; gives its interpreter."""
    python = folder / "bin" / "python"
    site = folder / f"lib/python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    python.parent.mkdir(parents=True)
    site.mkdir(parents=True)
    python.symlink_to(Path(sys.executable).resolve())
    home = Path(sys.executable).resolve().parent
    (folder / "pyvenv.cfg").write_text(f"home = {home}\n", "utf-8")
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith("__editable__") and entry.name != "memproto":
            (site / entry.name).symlink_to(entry)
    kit = site / "memproto"
    kit.mkdir()
    found = find_spec("memproto")
    assert found is not None
    assert found.origin is not None
    for entry in Path(found.origin).parent.iterdir():
        (kit / entry.name).symlink_to(entry)
    for name in _MOVED:
        part = find_spec(f"memproto.{name}")
        assert part is not None
        (where,) = part.submodule_search_locations or ()
        if not (kit / name).exists():
            (kit / name).symlink_to(where)
    return python
