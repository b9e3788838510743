"""The AI SDK's UI message stream, version 1 (`ai` 7): a turn as one assistant message, for front ends built on `useChat`."""
