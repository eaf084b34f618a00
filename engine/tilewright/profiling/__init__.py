"""What a profile says: times, work, counters and a chip's figures, put in sentences. Pure."""
