"""Sound files for a call: any format that FFmpeg knows is read, and WAV is written."""

from backend.media.sound_file import BadAudioFile, read_audio, write_wav

__all__ = ["BadAudioFile", "read_audio", "write_wav"]
