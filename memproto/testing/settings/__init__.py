"""Settings: the user's files, functions, waivers, credentials, and the order of a judge."""
