"""The MCP server: the engine's commands as tools for coding agents, with limits on what they read.

It runs the command line as a child process, as the language server does. The modules here import
the ``mcp`` package in ``service.py`` and ``client_roots.py`` only; the others are plain data.
"""
