"""Stand-ins for the device that host code was written for and this machine lacks."""
