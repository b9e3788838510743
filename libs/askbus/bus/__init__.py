"""NATS: subjects and streams as data, typed request/reply, pull workers, who may do what."""
