"""Calls to providers: lanes, threads, deadlines, and writes that are made once."""
