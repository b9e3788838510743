"""Talking to language models: a provider-neutral seam, one adapter for each wire. No other package imports a provider's SDK."""
