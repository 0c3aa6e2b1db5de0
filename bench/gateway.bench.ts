import { setTimeout as sleep } from 'node:timers/promises';
import {
  atLeast,
  atMost,
  defineBench,
  type BenchReport,
  type BenchRun,
  type CountRun,
  type Measure,
} from '@millrace/runners';
import { measureOpenStreams } from './gateway/open-streams.ts';
import { startMillrace } from './gateway/millrace.ts';
import { createRawClient, type RawClient } from './gateway/raw-client.ts';
import { startBaseline, startPortkey, startUpstreamDouble, type Gateway } from './gateway/gateways.ts';

/** Response that the upstream double sends: JSON at once, or chunks with a pace in milliseconds. */
interface LoadShape {
  readonly stream: boolean;
  readonly paceMs: number;
  readonly chunks: number;
}

const json: LoadShape = { stream: false, paceMs: 0, chunks: 0 };
const paced: LoadShape = { stream: true, paceMs: 2, chunks: 64 };
/** As fast as the double can send, so that many chunks arrive together. */
const unpaced: LoadShape = { stream: true, paceMs: 0, chunks: 64 };

type Name = 'direct' | 'bare' | 'Millrace' | 'Portkey';
type Gateways = Readonly<Record<Name, Gateway>>;

const names = ['direct', 'bare', 'Millrace', 'Portkey'] as const;

const byName = <T>(make: (name: Name) => T): Record<Name, T> => ({
  direct: make('direct'),
  bare: make('bare'),
  Millrace: make('Millrace'),
  Portkey: make('Portkey'),
});

function clientOf({ url, headers, model }: Gateway, { stream, paceMs, chunks }: LoadShape): RawClient {
  const body = {
    model,
    messages: [
      { role: 'system', content: 'You are a helpful assistant who answers in a few words.' },
      {
        role: 'user',
        content: `What does the mill by the river do all day? pace=${paceMs} chunks=${chunks}`,
      },
    ],
    temperature: 0.7,
    max_tokens: 1_024,
    stream,
  };
  return createRawClient({ url, path: '/v1/chat/completions', headers, body });
}

/** Shorter responses are incomplete and must not count as fast ones. */
const leastBytes = ({ stream, chunks }: LoadShape): number => (stream ? chunks * 150 : 300);

/** Until its code is compiled, a process uses several times the processor time. */
const WARM_UP_MS = 12_000;

async function warmUp(call: () => Promise<void>, concurrency: number): Promise<void> {
  const untilMs = performance.now() + WARM_UP_MS;
  const loop = async (): Promise<void> => {
    while (performance.now() < untilMs) await call();
  };
  await Promise.all(Array.from({ length: concurrency }, loop));
}

async function compare(run: BenchRun, gateways: Gateways, request: LoadShape, concurrency: number) {
  const firstMs = byName<number[]>(() => []);
  const clients = byName((name) => clientOf(gateways[name], request));
  let refused = 0;
  const callOf = (name: Name) => async (): Promise<void> => {
    const seen = await clients[name].send();
    if (seen.status === 200 && seen.bytes >= leastBytes(request)) firstMs[name].push(seen.firstMs);
    else {
      if (refused === 0) run.note(`${name} returned ${seen.status} with ${seen.bytes} bytes: ${seen.error}`);
      refused += 1;
    }
  };
  try {
    if (!run.quick && concurrency > 1) for (const name of names) await warmUp(callOf(name), concurrency);
    for (const name of names) firstMs[name].length = 0;
    refused = 0;
    const sides = byName((name) => ({ call: callOf(name), servers: [gateways[name].pid] }));
    return { measured: await run.measure(sides, { concurrency }), firstMs, refused };
  } finally {
    for (const name of names) clients[name].close();
  }
}

const round = (value: number, digits: number): number => Number(value.toFixed(digits));

function middle(values: readonly number[]): number {
  return round(values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN, 3);
}

/** Processor time of Millrace's process per request, relative to another gateway. */
function times(sides: Readonly<Record<Name, Measure>>, other: Name): number {
  return round(sides.Millrace.serverCpuUs / Math.max(1, sides[other].serverCpuUs), 2);
}

const prefixed = <Figure>(prefix: string, figures: Readonly<Record<string, Figure>>) =>
  Object.fromEntries(Object.entries(figures).map(([name, figure]) => [`${prefix}: ${name}`, figure]));

const COUNTED_REQUESTS = 50;
/** A gateway returns 503 if Valkey exceeds the time limit. The count is then repeated. */
const COUNT_ATTEMPTS = 20;
const RETRY_AFTER_MS = 1_000;

/** Round trips to Valkey per request: one script to reserve and one to settle. */
async function counts({ note }: CountRun): Promise<BenchReport> {
  await using direct = await startUpstreamDouble();
  await using millrace = await startMillrace(direct);
  const client = clientOf(millrace, json);
  /** Returns the number of requests refused with 503. */
  const countRefused = async (requests: number): Promise<number> => {
    let refused = 0;
    for (let nth = 0; nth < requests; nth += 1) {
      const { status, error } = await client.send();
      if (status === 503) refused += 1;
      else if (status !== 200) throw new Error(`Millrace returned ${status}: ${error}`);
    }
    return refused;
  };
  try {
    // The first requests also open the lease and load the scripts.
    await countRefused(5);
    let trips = Infinity;
    for (let attempt = 1; attempt <= COUNT_ATTEMPTS && trips === Infinity; attempt += 1) {
      const before = await millrace.scriptCalls();
      const refused = await countRefused(COUNTED_REQUESTS);
      if (refused === 0) trips = round(((await millrace.scriptCalls()) - before) / COUNTED_REQUESTS, 2);
      else {
        note(`attempt ${attempt}: ${refused} requests were refused with 503`);
        await sleep(RETRY_AFTER_MS);
      }
    }
    return {
      figures: { 'script calls in Valkey for a request': trips },
      bars: [
        atMost('script calls in Valkey for a request', 2.2, trips),
        atLeast('script calls in Valkey for a request', 1, trips),
      ],
    };
  } finally {
    client.close();
  }
}

export const bench = defineBench({
  name: 'gateway',
  about:
    'Chat through Millrace with all checks, through a bare undici.dispatch proxy and through Portkey, to the same upstream double. Server time is that of the gateway process; for `direct`, that of the double.',
  counts,
  async run(run) {
    await using direct = await startUpstreamDouble();
    await using bare = await startBaseline(direct);
    await using portkey = await startPortkey(direct);
    await using millrace = await startMillrace(direct);
    const gateways: Gateways = { direct, bare, Millrace: millrace, Portkey: portkey };
    for (const { pid } of [bare, millrace, portkey]) run.pinServer(pid);

    const whole = await compare(run, gateways, json, 64);
    const stream = await compare(run, gateways, paced, 32);
    const burst = await compare(run, gateways, unpaced, 16);
    const alone = await compare(run, gateways, paced, 1);
    const first = byName((name) => middle(alone.firstMs[name]));
    const held = await measureOpenStreams(run, millrace, (chunks) =>
      clientOf(millrace, { stream: true, paceMs: 100, chunks }),
    );
    return {
      figures: {
        ...prefixed('JSON', whole.measured),
        ...prefixed('stream', stream.measured),
        ...prefixed('unpaced stream', burst.measured),
        ...prefixed('first chunk p50 ms, one client', first),
        'stream: processor time, times Portkey': times(stream.measured, 'Portkey'),
        'unpaced stream: processor time, times bare': times(burst.measured, 'bare'),
        ...held.figures,
      },
      bars: [
        atMost('JSON: processor time, times bare', 2, times(whole.measured, 'bare')),
        atMost('JSON: processor time, times Portkey', 0.25, times(whole.measured, 'Portkey')),
        // With one chunk at a time, all gateways do one read and one write. So the cost per chunk is compared with the baseline,
        // and the
        // cost per request with unpaced chunks.
        atMost('stream: processor time, times bare', 1.3, times(stream.measured, 'bare')),
        atMost('unpaced stream: processor time, times Portkey', 0.45, times(burst.measured, 'Portkey')),
        atMost('invalid responses', 0, whole.refused + stream.refused + burst.refused + alone.refused),
        atMost('first chunk p50, times bare', 2.6, round(first.Millrace / first.bare, 2)),
        ...held.bars,
      ],
    };
  },
});
