"""Own tools and metrics. A package, so that what its tests share ends with them."""
