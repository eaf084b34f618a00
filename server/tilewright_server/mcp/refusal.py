"""Why a tool gives no result, in words for the agent."""


class RefusedError(Exception):
    """The call was not carried out; the message says why, and what to do instead."""
