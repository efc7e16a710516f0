"""
Providers that prove the specification can be met.

They import the protocol, the fence, what they share, and late the SDK of their backend.
"""
