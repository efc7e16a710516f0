"""The conformance kit: checks, child processes, verdicts. Nothing here needs pytest."""
