"""The stable maps, one file each."""
