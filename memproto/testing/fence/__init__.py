"""The fence under attack: a grammar of attacks, and an oracle that shares no code with it."""
