/* Workers for pages of the file system, where browsers refuse real ones: the script runs in a hidden frame instead.
   The search of the theme looks for the name IFrameWorker and then waits for the scripts that it imports. */
"use strict";
if (location.protocol === "file:") {
  class IFrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      const inside = frame.contentWindow;
      inside.document.open();
      inside.document.write("<!doctype html><html><body></body></html>");
      inside.document.close();
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      const load = (source) => new Promise((done, failed) => {
        const script = inside.document.createElement("script");
        script.src = new URL(source, document.baseURI).href;
        script.onload = done;
        script.onerror = failed;
        inside.document.body.appendChild(script);
      });
      inside.importScripts = (...urls) => urls.reduce((before, next) => before.then(() => load(next)), Promise.resolve());
      load(url).then(() => {
        this.inside = inside;
        this.waiting.forEach((data) => this.postMessage(data));
      });
      this.terminate = () => frame.remove();
    }
    postMessage(data) {
      if (this.inside) this.inside.dispatchEvent(new MessageEvent("message", { data }));
      else this.waiting.push(data);
    }
  }
  window.IFrameWorker = IFrameWorker;
  window.Worker = IFrameWorker;
}
