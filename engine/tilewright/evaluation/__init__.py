"""The cascade: syntax, structure, compile, correctness, speed; and the certificate."""
