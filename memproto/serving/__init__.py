"""`memproto serve`: a provider as a server of the wire, or its tools as a server of MCP."""
