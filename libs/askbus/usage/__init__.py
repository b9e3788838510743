"""Usage: what models were used for, and how much."""
