"""Grounded numbers: which numbers of an answer stand in what its turn's tools returned, or in the user's own words. Pure."""
