"""Pictures of a scene: strips of stills, GIF and MP4. The only place beside the physics that uses MuJoCo."""

from poise.record.camera import VIEWS, Camera
from poise.record.recording import EXTENSIONS, Recording, record

__all__ = ["EXTENSIONS", "VIEWS", "Camera", "Recording", "record"]
