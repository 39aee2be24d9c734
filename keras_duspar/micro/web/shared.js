// What all pages that listen have in common.

export const $ = (id) => document.getElementById(id);

// The microphone as it is: browsers' own noise suppression is off.
export const openMicrophone = () => navigator.mediaDevices.getUserMedia({
  audio: {
    echoCancellation: false, noiseSuppression: false, autoGainControl: false,
  },
});

// Puts a line on top of a list, which keeps the last ones.
export function addLine(list, text, most = 8) {
  const line = document.createElement("li");
  line.textContent = text;
  list.prepend(line);
  while (list.children.length > most) list.lastChild.remove();
}
