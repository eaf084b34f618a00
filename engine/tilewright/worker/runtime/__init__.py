"""The process model: a fork server with torch and triton imported, and one process a job."""
