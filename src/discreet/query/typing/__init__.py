"""Which type, range and keys an expression has, from public metadata."""
