"""What a process loses before code under test runs in it, one module for each means."""
