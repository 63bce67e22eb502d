"""A private profile of a table: what is in it, what caps and bounds would cut, and which ones to choose."""
