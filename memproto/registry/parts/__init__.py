"""The parts of a registry: each adds the methods of one job to the state in `base`."""
