"""What a kernel is run on: specs and modules, read without importing or running anything."""
