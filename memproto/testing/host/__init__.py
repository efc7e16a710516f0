"""One host under the hand of a check: its driver, its model, and providers that note calls."""
