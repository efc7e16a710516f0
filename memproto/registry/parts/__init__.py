"""The parts of a registry: each does one job on the `Core` that it is given."""
