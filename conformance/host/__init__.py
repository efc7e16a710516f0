"""Checks of hosts."""
