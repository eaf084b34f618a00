"""What compilers report: registers, spills, texts of their stages, reasons of refusals."""
