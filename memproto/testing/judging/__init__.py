"""Judging: from an order to checks in children, and from what became of them to results."""
