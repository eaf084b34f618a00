"""The worker service: one worker for all of a user's processes, which stays for a while."""
