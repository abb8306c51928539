"""The interfaces of the engine: command line, HTTP, MCP, hooks and the web page."""
