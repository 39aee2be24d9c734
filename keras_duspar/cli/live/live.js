// The page: takes sound to the server, shows and plays what comes back.
import { $, addLine, openMicrophone } from "./shared.js";
import { Spectrogram } from "./spectrogram.js";

const HIGHEST = 48000; // rate that the server takes
const LIMIT = 1 << 20; // bytes that may wait for the network
const AFTER = 1500; // milliseconds of silence after a recording
const POINTS = 60; // of the curves of occupancy
let running = null, spectrogram = null;

// A connection that is ready for sound at a rate, and what the server says.
function connect(rate) {
  const address = location.origin.replace("http", "ws");
  const socket = new WebSocket(`${address}/stream`);
  socket.binaryType = "arraybuffer";
  return new Promise((resolve, reject) => {
    socket.onmessage = ({ data }) => resolve([socket, JSON.parse(data)]);
    socket.onopen = () =>
      socket.send(JSON.stringify({ rate, format: "float32" }));
    socket.onclose = ({ reason }) =>
      reject(new Error(reason || "the server cannot be reached"));
  });
}

// open: makes the node that sound comes from, in a context, and what ends it.
async function start(open) {
  stop();
  const own = running = { end: () => {} };
  const run = async () => {
    let context = new AudioContext();
    if (context.sampleRate > HIGHEST) {
      context.close();
      context = new AudioContext({ sampleRate: HIGHEST });
    }
    own.context = context;
    const { source, end } = await open(context, own);
    own.end = end;
    const [socket, about] = await connect(context.sampleRate);
    own.socket = socket;
    if (own !== running) return close(own);
    await context.audioWorklet.addModule("listener.js");
    const node = new AudioWorkletNode(context, "listener", {
      processorOptions: { rate: about.rate }, outputChannelCount: [1],
    });
    own.node = node;
    spectrogram = new Spectrogram($("spectrogram"), about.rate);
    describe(about);
    settings();
    node.port.onmessage = ({ data }) => {
      if (socket.readyState !== WebSocket.OPEN) return;
      const late = socket.bufferedAmount > LIMIT;
      if (late) say("the server is too slow: some sound is left out");
      else socket.send(data);
    };
    socket.onmessage = ({ data }) => {
      if (own !== running) return;
      if (typeof data === "string") return show(JSON.parse(data));
      const pairs = new Float32Array(data);
      spectrogram.put(pairs);
      node.port.postMessage(pairs);
    };
    socket.onclose = ({ reason }) => {
      if (own === running) stop(reason || "the server has gone");
    };
    source.connect(node).connect(context.destination);
    say(`listening at ${context.sampleRate / 1000} kHz`);
    buttons(true);
  };
  return run().catch((error) => {
    if (own === running) stop(error.message || error.name);
    else close(own);
  });
}

function close({ context, socket, end }) {
  end();
  if (socket) socket.onclose = null;
  socket?.close();
  if (context?.state !== "closed") context?.close();
}

function stop(why = "stopped") {
  if (!running) return;
  close(running);
  running = null;
  buttons(false);
  say(why);
}

const microphone = () => start(async (context) => {
  $("play").checked = false; // it would hear itself
  const stream = await openMicrophone();
  const source = context.createMediaStreamSource(stream);
  const end = () => stream.getTracks().forEach((track) => track.stop());
  return { source, end };
});

const recording = (file) => start(async (context, own) => {
  const buffer = await file.arrayBuffer().then((bytes) =>
    context.decodeAudioData(bytes)).catch(() => {
    throw new Error(`${file.name} is no recording that this browser knows`);
  });
  $("play").checked = true;
  const source = new AudioBufferSourceNode(context, { buffer });
  source.onended = () => setTimeout(() => {
    if (own === running) stop(`${file.name} is over`);
  }, AFTER);
  source.start();
  return { source, end: () => source.stop() };
});

// What is shown

const say = (text) => { $("state").textContent = text; };

function buttons(busy) {
  $("microphone").hidden = $("open").hidden = busy;
  $("stop").hidden = !busy;
  if (document.activeElement === document.body) {
    $(busy ? "stop" : "microphone").focus({ preventScroll: true });
  }
}

function describe({ words, frames }) {
  $("known").textContent = words.join(", ");
  $("events").replaceChildren();
  $("layers").replaceChildren();
  for (const [name, milliseconds] of Object.entries(frames)) {
    $(`frame-${name}`).textContent = `per ${milliseconds} ms`;
  }
}

function show({ seconds, events, models }) {
  document.body.dataset.seconds = seconds;
  $("seconds").textContent = `${seconds.toFixed(1)} s`;
  for (const event of events) {
    spectrogram.words.push(event);
    const percent = (100 * event.confidence).toFixed(0);
    addLine(
      $("events"), `${event.word}, ${percent} %, at ${event.end.toFixed(1)} s`);
  }
  for (const [name, { microseconds, layers }] of Object.entries(models)) {
    $(`time-${name}`).textContent = `${microseconds.toFixed(1)} µs`;
    for (const [layer, share] of Object.entries(layers)) {
      showLayer(name, layer, share);
    }
  }
}

function showLayer(model, layer, share) {
  const id = `${model}/${layer}`;
  let row = $(id);
  if (!row) {
    if (!$(`${model}/`)) {
      const head = $("layers").insertRow();
      head.id = `${model}/`;
      head.className = "model";
      head.innerHTML = "<th colspan=3 scope=rowgroup>";
      head.firstChild.textContent = model === "words" ? "words" : "enhancing";
    }
    row = $("layers").insertRow();
    row.id = id;
    row.innerHTML = "<th scope=row><td><canvas aria-hidden=true></canvas><td>";
    row.firstChild.textContent = layer.replaceAll("_", " ");
    row.shares = [];
  }
  row.shares.push(share);
  row.shares.splice(0, row.shares.length - POINTS);
  row.lastChild.textContent = `${(100 * share).toFixed(0)} %`;
  drawCurve(row.querySelector("canvas"), row.shares);
}

function drawCurve(canvas, shares) {
  const scale = devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.fillStyle = "#8882";
  context.fillRect(0, 0, width, height);
  context.fillStyle = context.strokeStyle =
    getComputedStyle(document.documentElement).getPropertyValue("--accent");
  context.lineWidth = 1.5;
  const x = (i) => width * (POINTS - shares.length + i + 1) / POINTS;
  const y = (share) => 1 + (height - 2) * (1 - share);
  context.beginPath();
  shares.forEach((share, i) => context.lineTo(x(i), y(share)));
  context.stroke();
  context.lineTo(width, height);
  context.lineTo(x(0), height);
  context.globalAlpha = 0.25;
  context.fill();
}

const isEnhanced = () => $("enhanced").ariaPressed === "true";

function settings() {
  const enhanced = isEnhanced();
  $("shown").textContent = enhanced ? "enhanced sound" : "original sound";
  running?.node?.port.postMessage({
    settings: { enhanced, play: $("play").checked },
  });
}

function draw() {
  spectrogram?.draw(Number(isEnhanced()));
  requestAnimationFrame(draw);
}

// What can be done

const choose = () => $("file").click();
$("microphone").onclick = microphone;
$("open").onclick = choose;
$("stop").onclick = () => stop();
$("play").onchange = settings;
$("enhanced").onclick = () => {
  $("enhanced").ariaPressed = String(!isEnhanced());
  settings();
};
$("file").onchange = () => {
  const [file] = $("file").files;
  $("file").value = ""; // so that the same one can be chosen again
  if (file) recording(file);
};
const KEYS = { m: "microphone", o: "open", s: "stop", e: "enhanced", p: "play" };
document.onkeydown = (event) => {
  const button = $(KEYS[event.key.toLowerCase()]);
  const other = event.ctrlKey || event.altKey || event.metaKey || event.repeat;
  if (!button || button.hidden || other) return;
  event.preventDefault();
  button.click();
};
document.ondragover = (event) => {
  event.preventDefault();
  document.body.dataset.drop = "";
};
document.ondragleave = () => delete document.body.dataset.drop;
document.ondrop = (event) => {
  event.preventDefault();
  delete document.body.dataset.drop;
  const [file] = event.dataTransfer.files;
  if (file) recording(file);
};
settings();
draw();
