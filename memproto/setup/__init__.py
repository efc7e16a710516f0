"""Set-up of a provider by its own config schema: questions, answers, `.env`, status."""
