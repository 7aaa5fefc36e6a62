// A page with Pipecat's client kit: `call` connects, `told` is what the kit reports, `levels` what the caller hears.
import { PipecatClient, RTVIEvent } from "@pipecat-ai/client-js";
import { SmallWebRTCTransport, WavMediaManager as PeerMedia } from "@pipecat-ai/small-webrtc-transport";
import { WavMediaManager, WebSocketTransport } from "@pipecat-ai/websocket-transport";

const NOISY = [RTVIEvent.LocalAudioLevel, RTVIEvent.RemoteAudioLevel];
const plain = (value) => (value instanceof MediaStreamTrack ? value.kind : value);

window.told = [];
window.levels = [];
window.calledWith = [];

function measure(analyser) {
  const samples = new Float32Array(analyser.fftSize);
  const bins = new Float32Array(analyser.frequencyBinCount);
  setInterval(() => {
    analyser.getFloatTimeDomainData(samples);
    analyser.getFloatFrequencyData(bins);
    const newest = samples.slice(-Math.round(analyser.context.sampleRate / 20));
    const energy = newest.reduce((sum, each) => sum + each * each, 0) / newest.length;
    const loudest = bins.indexOf(Math.max(...bins));
    levels.push([performance.now(), Math.sqrt(energy), (loudest * analyser.context.sampleRate) / analyser.fftSize]);
  }, 25);
}

function listen(track) {
  const context = new AudioContext({ sampleRate: 24000 });
  const player = document.createElement("audio");
  player.srcObject = new MediaStream([track]);
  player.play();
  const analyser = new AnalyserNode(context, { fftSize: 2048 });
  context.createMediaStreamSource(player.srcObject).connect(analyser);
  measure(analyser);
}

window.call = async (kind, address, { token, enableMic = true } = {}) => {
  const headers = new Headers(token ? { Authorization: `Bearer ${token}` } : {});
  const media = kind === "websocket" ? new WavMediaManager(512, 16000) : new PeerMedia();
  const transport =
    kind === "websocket"
      ? new WebSocketTransport({ mediaManager: media })
      : new SmallWebRTCTransport({ mediaManager: media });
  const client = (window.client = new PipecatClient({ transport, enableMic }));
  for (const event of Object.values(RTVIEvent)) {
    if (!NOISY.includes(event)) client.on(event, (data) => told.push([performance.now(), event, plain(data)]));
  }
  client.registerFunctionCallHandler("look_outside", async (asked) => {
    calledWith.push(asked);
    return { sky: "rain" };
  });
  client.on(RTVIEvent.TrackStarted, (track, participant) => {
    if (kind !== "websocket" && !participant?.local) listen(track);
  });
  const params =
    kind === "websocket"
      ? { wsUrl: `${address.replace("http", "ws")}/api/rtvi`, ...(token && { token }) }
      : { webrtcRequestParams: { endpoint: `${address}/api/rtvi/offer`, headers } };
  const ready = await client.connect(params);
  if (kind === "websocket") measure(media._wavStreamPlayer.analyser);
  return ready;
};
window.bundled = true;
