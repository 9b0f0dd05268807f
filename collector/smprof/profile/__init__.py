"""The profile format: what the recorder and the importers write and the application reads. FORMAT.md specifies it."""
