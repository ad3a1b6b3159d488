"""The language of conditions: its words, what they mean, and how they are read."""
