"""Search over verified texts: ideas, nodes, populations and the loop that ties them together."""
