"""The part of a worker on another host that receives files and cleans up."""
