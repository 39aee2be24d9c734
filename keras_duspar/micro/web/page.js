// The page: loads the model, starts the microphone, shows what comes out.
import { Machine, softmax } from "./machine.js";
import { $, addLine, openMicrophone } from "./shared.js";

const read = (name) => fetch(name).then((answer) => {
  if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
  return answer;
});
const REFRACTORY = 1000; // milliseconds between two events
let about, module, file, context, node, lastEvent = 0, heard = null;

async function load() {
  [about, module, file] = await Promise.all([
    read("model.json").then((a) => a.json()),
    read("runtime.wasm").then((a) => a.arrayBuffer()),
    read("model.bin").then((a) => a.arrayBuffer()),
  ]);
  document.title = $("title").textContent = about.title;
  $("audio").hidden = about.kind !== "audio";
  $("words").hidden = about.kind === "audio";
  $("size").textContent = `${Math.round(file.byteLength / 1024)} KB`;
  $("speed").textContent = `${measure().toFixed(1)} µs`;
  $("state").textContent = "ready";
  $("budget").textContent =
    `per ${(1000 * about.samples / about.sample_rate).toFixed(0)} ms of sound`;
  $("start").disabled = false;
}

// Microseconds per hop of noise, in this browser: the least of several times,
// as others use the processor, too; each of many hops, as clocks are coarse.
function measure() {
  const machine = new Machine(new WebAssembly.Module(module), file, about);
  const hops = 100;
  let least = Infinity;
  for (let round = 0; round < 20; ++round) {
    const start = performance.now();
    for (let i = 0; i < hops; ++i) {
      for (let k = 0; k < about.samples; ++k) {
        machine.input[k] = (Math.random() - 0.5) / 4;
      }
      machine.push();
    }
    least = Math.min(least, performance.now() - start);
  }
  return 1000 * least / hops;
}

async function start() {
  $("start").disabled = true;
  const stream = await openMicrophone();
  context = new AudioContext();
  await context.audioWorklet.addModule("worklet.js");
  node = new AudioWorkletNode(context, "model", {
    processorOptions: { module, file, about },
    outputChannelCount: [1],
  });
  node.port.onmessage = ({ data }) => show(data);
  context.createMediaStreamSource(stream).connect(node);
  node.connect(context.destination);
  $("state").textContent = `listening at ${context.sampleRate / 1000} kHz`;
  $("start").hidden = true;
  $("stop").hidden = false;
  stop.tracks = stream.getTracks();
}

function stop() {
  stop.tracks.forEach((track) => track.stop());
  context.close();
  $("state").textContent = "stopped";
  $("stop").hidden = true;
  $("start").hidden = $("start").disabled = false;
}

function show(data) {
  if (data.scores) showScores(softmax(data.scores));
  if (!("peak" in data)) return;
  document.body.dataset.hops = data.hops;
  $("level").value = Math.max(0, 1 + Math.log10(data.peak + 1e-6) / 3);
  if (data.occupancy >= 0) {
    $("occupancy").value = data.occupancy;
    $("percent").textContent = `${(100 * data.occupancy).toFixed(0)} %`;
  }
}

function name(i) {
  return about.labels?.[i] ?? `class ${i}`;
}

function showScores(probabilities) {
  const order = probabilities.map((p, i) => [p, i]).sort((a, b) => b[0] - a[0]);
  $("scores").replaceChildren(...order.slice(0, 5).map(([p, i]) => {
    const row = document.createElement("div");
    row.className = "score";
    const bar = document.createElement("meter");
    bar.value = p;
    row.append(name(i), bar);
    return row;
  }));
  const [best, i] = order[0], now = Date.now();
  const quiet = best < Number($("threshold").value) || about.blank === i;
  if (quiet) heard = null; // a word that goes on is one event
  if (quiet || i === heard || now - lastEvent < REFRACTORY) return;
  [lastEvent, heard] = [now, i];
  const time = new Date(now).toLocaleTimeString();
  addLine($("events"), `${name(i)}  ${(100 * best).toFixed(0)} %  ${time}`);
}

const fail = (error) => {
  $("state").textContent = error.message;
  $("start").disabled = false;
};
$("start").onclick = () => start().catch(fail);
$("stop").onclick = stop;
$("enhanced").onchange = () =>
  node?.port.postMessage({ enhanced: $("enhanced").checked });
$("threshold").oninput = () => {
  $("chosen").textContent = `${Math.round(100 * $("threshold").value)} %`;
};
load().catch(fail);
