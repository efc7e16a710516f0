"""Measurement beside the verdict: recall of evidence, speed and growth; nothing of it is judged."""
