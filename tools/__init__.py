"""Tools of the developers; not part of the package."""
