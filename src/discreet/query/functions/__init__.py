"""The functions of the query language: what they need, what they give, how they are lowered."""
