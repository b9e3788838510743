"""The embedded Postgres and NATS from wheels, and the supervisor behind `askbus up`."""
