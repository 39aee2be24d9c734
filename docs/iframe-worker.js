// Pages opened from the disk may start no worker, which the search needs: there
// its script runs in a hidden frame.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.frame = frame.contentWindow;
      this.frame.postMessage = (data) =>
        this.dispatchEvent(new MessageEvent("message", { data }));
      const script = this.frame.document.createElement("script");
      this.loaded = new Promise((resolve) => (script.onload = resolve));
      script.src = new URL(url, document.baseURI);
      this.frame.document.body.append(script);
    }

    postMessage(data) {
      const event = new this.frame.MessageEvent("message", { data });
      this.loaded.then(() => this.frame.dispatchEvent(event));
    }
  };
  window.Worker = window.IFrameWorker;
}
