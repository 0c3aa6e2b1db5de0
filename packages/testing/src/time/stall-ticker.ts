import { parentPort, workerData } from 'node:worker_threads';

const TICK_MS = 20;
/** A longer gap between two ticks is a stall of the machine, because this thread does nothing else. */
const MAX_GAP_MS = 60;

const frozenMs = workerData as Float64Array;
let requested = 0;
let tickedMs = performance.now();

parentPort?.on('message', () => {
  requested += 1;
});

setInterval(() => {
  const gapMs = performance.now() - tickedMs;
  tickedMs += gapMs;
  if (gapMs > MAX_GAP_MS) frozenMs[0] = (frozenMs[0] ?? 0) + gapMs - TICK_MS;
  for (; requested > 0; requested -= 1) parentPort?.postMessage('ticked');
}, TICK_MS);
