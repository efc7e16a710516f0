"""
The one log of audit events of a test process.

An audit hook stays for good, and the first one that refuses an event keeps it from those behind:
with a second log, what is refused would depend on which test came first.
"""

from memproto.testing.instruments.watchers import AuditLog

AUDIT = AuditLog()
