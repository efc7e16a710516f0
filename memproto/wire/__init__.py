"""Providers in processes of their own, by the protocol of 85-wire.md; standard library only."""
