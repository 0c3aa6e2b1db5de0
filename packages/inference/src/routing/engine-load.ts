import type { EngineKind } from '@millrace/core/inference';

/** How busy an engine says it is, in the Prometheus text that it serves at /metrics. */
export interface LoadReading {
  readonly running: number;
  readonly waiting: number;
}

const gauges: Partial<Record<EngineKind, Readonly<Record<keyof LoadReading, string>>>> = {
  'llama.cpp': { running: 'llamacpp:requests_processing', waiting: 'llamacpp:requests_deferred' },
  vllm: { running: 'vllm:num_requests_running', waiting: 'vllm:num_requests_waiting' },
  sglang: { running: 'sglang:num_running_reqs', waiting: 'sglang:num_queue_reqs' },
};

export function publishesLoad(engine: EngineKind): boolean {
  return gauges[engine] !== undefined;
}

/** Null when the text does not hold what this engine should say. */
export function readLoad(engine: EngineKind, text: string): LoadReading | null {
  const names = gauges[engine];
  if (names === undefined) return null;
  const running = sumOf(text, names.running);
  const waiting = sumOf(text, names.waiting);
  return running === null || waiting === null ? null : { running, waiting };
}

/**
 * The sum over all series of a gauge: an engine with several workers has one for each. The text of a busy engine is long and
 * read every second, so it is searched rather than taken apart.
 */
function sumOf(text: string, name: string): number | null {
  let sum: number | null = null;
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + name.length)) {
    if (at > 0 && text[at - 1] !== '\n') continue;
    const next = text[at + name.length];
    if (next !== ' ' && next !== '{') continue;
    const value = valueAt(text, at + name.length);
    if (Number.isFinite(value) && value >= 0) sum = (sum ?? 0) + value;
  }
  return sum;
}

function valueAt(text: string, from: number): number {
  const lineEnd = text.indexOf('\n', from);
  const line = text.slice(from, lineEnd === -1 ? text.length : lineEnd);
  // A label's value may hold a brace or a blank in quotes, but nothing after the last brace is quoted.
  const afterLabels = line.slice(line.lastIndexOf('}') + 1);
  const [value] = afterLabels.trim().split(' ');
  return value === undefined || value === '' ? Number.NaN : Number(value);
}
