"""Providers that prove the specification can be met. They import the protocol and nothing else."""
