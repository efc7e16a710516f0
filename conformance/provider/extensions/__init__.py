"""Checks of the extensions that a provider declares."""
