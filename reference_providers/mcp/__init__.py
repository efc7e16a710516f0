"""The memory of any MCP server: its search and store tools, driven by the hooks of the protocol."""

from .provider import McpMemoryProvider

__all__ = ["McpMemoryProvider"]
