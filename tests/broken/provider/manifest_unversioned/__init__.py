"""A plugin whose plugin.yaml gives its version as a number, which drops the zero of 1.10."""

from tests.broken.marks import mutant
from tests.good.plugged import Plugged


@mutant(kills="MP-PLUG-001", says="is not of type 'string'", report="hermes#85879")
class VersionIsANumber(Plugged):
    """Its manifest is the fault."""
