"""Sound files for a call: any format that FFmpeg knows is read."""

from backend.media.sound_file import BadAudioFile, read_audio

__all__ = ["BadAudioFile", "read_audio"]
