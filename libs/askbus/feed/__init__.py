"""The change feed: one log written by triggers, one cursor, one statement; its readers are the gateways and the relays."""
