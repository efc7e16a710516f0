"""The version of this package, for every room: `memproto` itself stands above all of them."""

__version__ = "0.1.0"
