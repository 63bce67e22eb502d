"""Questions about tables: schema, plan, doors, bounding, noise, answers."""
