"""``nki.isa``: instructions that write the tile that they are given."""
