"""The memory as an MCP server: `gitmem mcp` speaks the protocol on standard input and output."""
