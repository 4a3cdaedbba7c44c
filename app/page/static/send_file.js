// A form with a file, sent with its progress. The browser reads the file from the disk piece by piece: it is never held
// in memory, however large it is.
import { base, Refused } from "./api.js";

// The JSON of the answer. `progress` is told the share that is sent. Throws Refused, or an AbortError.
export function sendFile(path, form, progress, signal) {
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    const away = (detail) => failed(new Refused(0, { title: "The file was not sent", detail }));
    request.open("POST", base + path);
    request.setRequestHeader("Accept", "application/json");
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) progress(event.loaded / event.total);
    });
    request.addEventListener("load", () => {
      const told = parsed(request.responseText);
      if (request.status < 400) done(told);
      else failed(new Refused(request.status, told));
    });
    request.addEventListener("error", () => away(
      "The service did not answer, or the file has changed on the disk since you chose it. Choose it once more."));
    request.addEventListener("abort", () => failed(new DOMException("replaced by another request", "AbortError")));
    signal?.addEventListener("abort", () => request.abort());
    request.send(form);
  });
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return { detail: text.slice(0, 300) };
  }
}
