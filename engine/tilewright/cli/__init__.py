"""The terminal front end: thin commands over the library, text or JSON out."""
