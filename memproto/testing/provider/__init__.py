"""One provider under the hand of a check: instances, routes, calls, and what they lose."""
