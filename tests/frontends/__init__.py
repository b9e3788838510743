"""Front ends: the doors, the vocabularies, and the real clients. A package, so that what its tests share ends with them."""
