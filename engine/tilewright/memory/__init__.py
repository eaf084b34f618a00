"""What earlier runs learned: slow-fast pairs and schedules, recalled where they apply."""
