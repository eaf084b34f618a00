"""Static cost: the time of a launch by its source, its compile report and a chip's figures."""
