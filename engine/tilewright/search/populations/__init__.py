"""Which nodes a search keeps and goes on from."""
