"""Without its package the extension is missing, and the others work."""

import subprocess
import sys

WITHOUT = """
import sys
sys.modules["aiosipua"] = None
from backend.app.extensions import installed
print(dict(installed().missing), "sip" in [each.name for each in installed().extensions])
"""


def test_an_extension_without_its_package_is_missing_and_the_others_work() -> None:
    printed = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == "{'sip': 'aiosipua'} False"
