"""Long work: the engine as a child process, with progress, cancellation and a sure end."""
