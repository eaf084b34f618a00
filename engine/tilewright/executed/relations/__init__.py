"""What must hold between runs of one function; ``table`` names them all."""
