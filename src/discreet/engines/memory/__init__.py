"""The engine in plain Python: the oracle that every other engine must agree with."""
