// SPDX-License-Identifier: BSD-3-Clause
// Browsers start no worker for a page that is read from a file. There a hidden frame takes its place, and runs the search's script.
(() => {
  if (location.protocol !== "file:") return;
  class IFrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = "<!doctype html><title>search</title>";
      this.window = new Promise((ready) => {
        frame.addEventListener("load", () => {
          const inner = frame.contentWindow;
          inner.postMessage = (data) => this.answer(data);
          const script = frame.contentDocument.createElement("script");
          script.src = url;
          script.addEventListener("load", () => ready(inner));
          frame.contentDocument.head.append(script);
        }, { once: true });
      });
      document.body.append(frame);
    }
    answer(data) {
      const event = new MessageEvent("message", { data });
      if (this.onmessage) this.onmessage(event);
      this.dispatchEvent(event);
    }
    postMessage(data) {
      this.window.then((inner) => inner.dispatchEvent(new inner.MessageEvent("message", { data })));
    }
  }
  window.IFrameWorker = IFrameWorker;
  window.Worker = IFrameWorker;
})();
