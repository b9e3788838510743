"""Actions: proposed changes to the team's records, what people decide about them, and what became of them."""
