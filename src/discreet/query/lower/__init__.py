"""From a plan to lowered relations: typed, bounded per unit, reading only what is used."""
