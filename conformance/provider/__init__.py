"""Checks of providers."""
