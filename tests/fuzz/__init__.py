"""Requests that nobody thought of, made by Schemathesis from the served OpenAPI document: `make fuzz`."""
