"""What a host function does with its tensors, in program order."""
