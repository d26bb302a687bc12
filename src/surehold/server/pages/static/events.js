// The service's events as they happen, read from a streaming fetch: EventSource does not say why it was refused.

import { refusalOf } from "./api.js";
import { ROOT } from "./dom.js";

const SOONEST = 500;
const LATEST = 15_000;
const SILENCE = 40_000; // the service sends something every 15 s

/**
 * Read /v1/events until stopped. `onStatus` gets each status, `onState` one of connecting, live, waiting
 * or denied. Returns a function that stops it.
 */
export function follow(onStatus, onState) {
  let stopped = false;
  let attempt = 0;
  let controller = null;
  let wake = null;
  const now = () => wake?.();
  const cut = () => controller?.abort(); // an open stream would not notice for some time
  addEventListener("online", now);
  addEventListener("offline", cut);

  (async () => {
    while (!stopped) {
      onState("connecting");
      controller = new AbortController();
      let watchdog;
      let ended = false;
      const alive = () => {
        clearTimeout(watchdog);
        watchdog = setTimeout(() => controller.abort(), SILENCE);
      };
      try {
        alive();
        const headers = { Accept: "text/event-stream" };
        const response = await fetch(`${ROOT}/v1/events`, { headers, cache: "no-store", signal: controller.signal });
        if (!response.ok) throw await refusalOf(response);
        attempt = 0;
        onState("live");
        await read(response.body, alive, onStatus);
        ended = true; // a stream lasts an hour; its end is not an error
      } catch (error) {
        if (stopped) return;
        if (error.status === 401) return onState("denied");
      } finally {
        clearTimeout(watchdog);
      }
      if (stopped) return;
      // Exponential backoff with jitter.
      const wait = Math.min(SOONEST * 2 ** attempt++, LATEST) * (0.75 + 0.5 * Math.random());
      onState(ended ? "connecting" : "waiting");
      await new Promise((resolve) => {
        wake = resolve;
        setTimeout(resolve, wait);
      });
    }
  })();

  return () => {
    stopped = true;
    removeEventListener("online", now);
    removeEventListener("offline", cut);
    controller?.abort();
    wake?.();
  };
}

/** Events end with an empty line; lines that start with a colon are keep-alives. */
async function read(body, alive, onStatus) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let kept = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    alive();
    kept = (kept + value).replaceAll("\r\n", "\n");
    const events = kept.split("\n\n");
    kept = events.pop();
    for (const event of events) {
      const lines = event.split("\n");
      const data = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trimStart());
      const isStatus = lines.some((line) => /^event:\s*status$/.test(line));
      if (isStatus && data.length) onStatus(JSON.parse(data.join("\n")));
    }
  }
}
