"""The curator: holds the data, keeps a durable budget for many analysts, answers over HTTP."""

from discreet import ledger


def __getattr__(name: str) -> object:
    """What moved to ``discreet.ledger`` is still found here."""
    if name in ledger.__all__:
        return getattr(ledger, name)
    raise AttributeError(f"module 'discreet.curator' has no attribute {name!r}")
