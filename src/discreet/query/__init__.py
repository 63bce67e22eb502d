"""Questions about tables: plan, interfaces, typing, bounding, noise plan, the run, the answer."""
