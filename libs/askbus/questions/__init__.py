"""Questions: what an agent wants a person to answer."""
