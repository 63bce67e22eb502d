"""Privacy loss distributions, certified on both sides (pld.md has the proofs)."""
