"""The kit's wheel, and the environments that several files of this folder share."""

import pytest

from tests.wild import environments
from tests.wild.environments import kit_wheel

__all__ = ["kit_wheel"]  # a fixture


@pytest.fixture(scope="session")
def strands_python(tmp_path_factory, kit_wheel):
    """The Python of an environment with strands-agents."""
    return environments.common(tmp_path_factory, "strands", kit_wheel, "strands-agents==1.62.0")


@pytest.fixture(scope="session")
def agent_framework_python(tmp_path_factory, kit_wheel):
    """The Python of an environment with agent-framework-core."""
    core = "agent-framework-core==1.23.0"
    return environments.common(tmp_path_factory, "agent-framework", kit_wheel, core)


@pytest.fixture(scope="session")
def langgraph_python(tmp_path_factory, kit_wheel):
    """The Python of an environment with langgraph."""
    installs = "langgraph==1.2.24 langgraph-checkpoint==4.3.2"
    return environments.common(tmp_path_factory, "langgraph", kit_wheel, installs)
