"""The Tilewright language server."""
