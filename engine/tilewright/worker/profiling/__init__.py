"""What a version does on a device: its launches, the device's activity, a profiler's program."""
