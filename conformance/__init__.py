"""The conformance suite: one file for each chapter of the specification."""
