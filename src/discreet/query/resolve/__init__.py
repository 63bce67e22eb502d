"""From expressions with unresolved names to a plan: the one way that SQL and verbs share."""
