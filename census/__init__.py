"""
The census: every real provider that is known, judged by one kit and shown side by side.

Not shipped: run in a checkout as `python -m census`. `entries/` holds a file for each package,
`outcomes.json` what the last census found, and `readings.toml` how its red lines were read.
"""
