"""Poise for other programs: a server on this machine takes motions and pushes, and gives motions and findings back.

The messages are documented in docs/serve.md. The Blender extension talks to it.
"""
