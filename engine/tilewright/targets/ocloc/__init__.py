"""Intel's offline compiler: found, or put in place from the distribution's packages."""
