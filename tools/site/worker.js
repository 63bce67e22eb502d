// Search runs in a Worker. A page that was opened as a file may not start one: there it runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.waiting = [];
      this.heard = (event) => {
        if (event.source !== this.frame.contentWindow) return;
        if (event.data === "worker ready") {
          this.ready = true;
          this.waiting.splice(0).forEach((message) => this.postMessage(message));
        } else if (this.onmessage) {
          this.onmessage(event);
        }
      };
      addEventListener("message", this.heard);
      const start = "const send = parent.postMessage.bind(parent); self.postMessage = (message) => send(message, '*');";
      this.frame.srcdoc =
        `<script>${start}</script><script src="${new URL(url, location.href)}"></script>` +
        "<script>self.postMessage('worker ready')</script>";
      document.body.append(this.frame);
    }
    postMessage(message) {
      if (this.ready) this.frame.contentWindow.onmessage({ data: structuredClone(message) });
      else this.waiting.push(message);
    }
    terminate() {
      removeEventListener("message", this.heard);
      this.frame.remove();
    }
  };
}
