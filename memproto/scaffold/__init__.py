"""
`memproto new NAME [--hermes] [--lang LANGUAGE]`: a provider that conforms, for one who starts.

The templates are whole projects of the name `example-memory`: they are linted, and can be judged,
as they are. A new one is a copy with the name replaced in paths and texts.
"""

from memproto.scaffold.making import new
from memproto.scaffold.naming import Name, named

__all__ = ["Name", "named", "new"]
