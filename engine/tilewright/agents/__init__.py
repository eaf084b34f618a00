"""What a language model is asked in each role, and what is made of its reply.

Nothing here calls a model or reads a clock: equal inputs give equal prompts, byte for byte. The
only files that are read are the templates of this package and the knowledge base.
"""
