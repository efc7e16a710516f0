"""The specification as package data: `v1/` holds chapters, requirements, schemas and examples."""
