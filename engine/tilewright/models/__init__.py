"""Language models behind an OpenAI-compatible endpoint: requests, replies, limits, prices.

Only ``endpoint`` opens connections. It imports the ``openai`` package when the first call is made.
"""
