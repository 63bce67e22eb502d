"""Tables of a session as a source of marginals: the engine counts, and rows never come here."""
