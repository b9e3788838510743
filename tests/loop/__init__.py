"""Turns. A package, so that what its tests share ends with them."""
