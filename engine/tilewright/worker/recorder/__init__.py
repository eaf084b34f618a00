"""Recording of the launches that the user's own process makes, while it runs."""
