"""The durable budget: entries bound by hashes, charges, receipts. Knows nothing of tables. Start at store.py."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.ledger.charges import Charge
    from discreet.ledger.receipts import verify_card, verify_receipt
    from discreet.ledger.registry import registry_record
    from discreet.ledger.store import Ledger, open_ledger, replace_key
    from discreet.ledger.verify import import_ledger, verify_ledger

__all__ = [
    "Charge",
    "Ledger",
    "import_ledger",
    "open_ledger",
    "registry_record",
    "replace_key",
    "verify_card",
    "verify_ledger",
    "verify_receipt",
]

# A receipt can be checked without the extra that a database needs.
_LATE = {
    "Charge": "charges",
    "Ledger": "store",
    "import_ledger": "verify",
    "open_ledger": "store",
    "registry_record": "registry",
    "replace_key": "store",
    "verify_card": "receipts",
    "verify_ledger": "verify",
    "verify_receipt": "receipts",
}


def __getattr__(name: str) -> object:
    if name in _LATE:
        return getattr(import_module(f"discreet.ledger.{_LATE[name]}"), name)
    raise AttributeError(f"module 'discreet.ledger' has no attribute {name!r}")
