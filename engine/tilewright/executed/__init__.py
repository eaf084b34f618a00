"""Host functions run in the interpreter on drafted inputs, and issues from what happens."""
