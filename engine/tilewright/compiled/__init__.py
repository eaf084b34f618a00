"""What compilers' reports say is slow or wrong in a kernel: reports in, issues out."""
