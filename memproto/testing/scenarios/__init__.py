"""Scenarios that checks share: texts, conversations, tenants, tools, sessions in any order."""
