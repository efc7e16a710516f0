"""Measurements for readers: tables, pages, comparisons, and a part of the board."""
