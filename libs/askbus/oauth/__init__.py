"""Apps that a person connects over OAuth 2.1, and the grants, codes and tokens that come of it."""
