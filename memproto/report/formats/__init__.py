"""A report in the forms that others read: code hosts, their summaries, and images."""
