"""The faces of the engine: command line, and later HTTP, MCP and the web page."""
