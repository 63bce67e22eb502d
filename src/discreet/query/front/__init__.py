"""The interfaces: SQL text, DataFrame verbs, and plans written back as SQL."""
