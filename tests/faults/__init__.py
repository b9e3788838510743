"""Crashes: one stack of real processes for all of them. A package, so that what its tests share ends with them."""
