"""The engine in a process of its own: limited memory, a deadline, killed when it is over."""
