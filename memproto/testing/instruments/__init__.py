"""Instruments inside a kit child: audit events, threads, loops, logs, the wall clock."""
