"""The jobs that the engine sends to a worker, and the values that come back.

For type checkers: a worker imports nothing of this where it runs, as its interpreter may be older.
``Job[Value]`` is a job that is answered with a ``Value``. A value is there where the job's status
is ok.
"""
