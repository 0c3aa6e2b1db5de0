import type { EngineKind } from '@millrace/core/inference';

/** The load that an engine reports in its Prometheus text at /metrics. */
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

/** Returns null if the text lacks the gauges of this engine. */
export function readLoad(engine: EngineKind, text: string): LoadReading | null {
  const names = gauges[engine];
  if (names === undefined) return null;
  const running = sumOf(text, names.running);
  const waiting = sumOf(text, names.waiting);
  return running === null || waiting === null ? null : { running, waiting };
}

/** Sums all series of a gauge, one per worker. Busy engines have long texts, so this searches instead of parsing. */
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
  // Label values can contain braces and blanks in quotes, but nothing after the last brace is quoted.
  const afterLabels = line.slice(line.lastIndexOf('}') + 1);
  const [value] = afterLabels.trim().split(' ');
  return value === undefined || value === '' ? Number.NaN : Number(value);
}
