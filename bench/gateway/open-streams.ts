import { setTimeout as sleep } from 'node:timers/promises';
import { atMost, median, residentMib, type BenchAssertion, type BenchRun } from '@millrace/runners';
import type { RawClient, RawResponse } from './raw-client.ts';
import type { Gateway } from './gateways.ts';

/** Measures the memory of many slow concurrent streams, which must not grow. */

const STREAMS = 1_000;
/** Streams to open at once, until all are open. */
const STEP = 50;
const STEP_MS = 100;

export interface OpenStreamsReport {
  readonly figures: Readonly<Record<string, number>>;
  readonly bars: readonly BenchAssertion[];
}

/** `clientOf` returns a client whose streams have this many chunks, 100 ms apart. */
export async function measureOpenStreams(
  run: BenchRun,
  gateway: Gateway,
  clientOf: (chunks: number) => RawClient,
): Promise<OpenStreamsReport> {
  const seconds = run.quick ? 6 : 40;
  const idle = residentMib(gateway.pid);
  const client = clientOf(seconds * 10);
  const streams: Promise<RawResponse>[] = [];
  while (streams.length < STREAMS) {
    for (let nth = 0; nth < STEP; nth += 1) streams.push(client.send());
    await sleep(STEP_MS);
  }
  const samples: number[] = [];
  for (let second = 0; second < seconds; second += 1) {
    await sleep(1_000);
    samples.push(residentMib(gateway.pid));
  }
  const responses = await Promise.all(streams);
  client.close();
  const refused = responses.filter(({ status }) => status !== 200).length;
  const whole = responses.filter(({ status, bytes }) => status === 200 && bytes > seconds * 10 * 100).length;
  // The first third fills heaps and buffers; the median of the second is compared with that of the last.
  const third = Math.floor(samples.length / 3);
  const early = median(samples.slice(third, 2 * third));
  const late = median(samples.slice(2 * third));
  return {
    figures: {
      [`${STREAMS} streams held for ${seconds} s: refused`]: refused,
      [`${STREAMS} streams held for ${seconds} s: whole`]: whole,
      [`${STREAMS} streams: MiB before`]: idle,
      [`${STREAMS} streams: MiB in the second third`]: early,
      [`${STREAMS} streams: MiB in the last third`]: late,
    },
    bars: [
      atMost(`streams of ${STREAMS} that broke`, 0, STREAMS - whole),
      atMost(
        `${STREAMS} streams: memory, last third against second`,
        1.1,
        Math.round((late / early) * 100) / 100,
      ),
    ],
  };
}
