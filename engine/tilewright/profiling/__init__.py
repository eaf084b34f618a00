"""What a profile says: times, work, counters and a chip's figures, put in sentences. Pure."""

from tilewright.profiling.model import Confidence, Fact, Finding, Interval, Profiled, Source

__all__ = ["Confidence", "Fact", "Finding", "Interval", "Profiled", "Source"]
