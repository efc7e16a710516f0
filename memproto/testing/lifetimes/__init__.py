"""Hosts in processes of their own: how they end, race, and lose their store."""
