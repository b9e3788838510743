"""Webhooks: signed word of what happened, sent to an address that an admin gave (Standard Webhooks 1.0.0)."""
