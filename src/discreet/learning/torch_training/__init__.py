"""Private training of torch models: clipped sums in integers, exact noise, certified accounting. Needs torch."""
