"""Kit children seen from the parent: templates, copies, sandboxes, services, their end."""
