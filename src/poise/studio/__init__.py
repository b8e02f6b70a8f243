"""The page served live: a scene that moves while something computes it, and hands that reach into it."""
