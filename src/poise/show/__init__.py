"""What is seen: scenes as data, recordings, pages, strips, films, and the live page."""

from poise.show.camera import VIEWS, Camera
from poise.show.recording import EXTENSIONS, Recording, record

__all__ = ["EXTENSIONS", "VIEWS", "Camera", "Recording", "record"]
