import { systemClock } from '@millrace/platform/clock';
import { eventually } from '@millrace/testing';
import { expect, it } from 'vitest';
import { createUsageHarness, type UsageHarness } from '../usage.fixture.ts';
import { openUsageStream, type UsageStreamReader } from './usage-stream-reader.ts';
import type { UsageEvent } from './usage-event.ts';

interface OpenedReader {
  readonly reader: UsageStreamReader;
  readonly errors: object[];
}

/** `beforeFollowing` runs between reading the start position and following the stream. */
async function openReader(
  harness: UsageHarness,
  beforeFollowing: () => Promise<unknown>,
): Promise<OpenedReader> {
  const errors: object[] = [];
  const reader = await openUsageStream({
    db: harness.db,
    clock: systemClock,
    log: { info: () => undefined, error: (fields: object) => void errors.push(fields) } as never,
    stream: harness.stream,
    ...{ batch: 10, gatherMs: 5, maintenanceIntervalMs: 60_000, retainMs: 0 },
    nats: {
      ...harness.nats,
      async follow(spec) {
        await beforeFollowing();
        return harness.nats.follow(spec);
      },
    },
  });
  return { reader: reader ?? expect.fail('The stream does not exist.'), errors };
}

async function chargeByOtherSink(harness: UsageHarness, events: readonly UsageEvent[]): Promise<void> {
  const sink = harness.startSink();
  for (const event of events) {
    await harness.publish([event]);
    await eventually({ what: 'the row of the request' }, () => harness.request(event.requestId));
  }
  await sink.stop();
}

it('openUsageStream reports no lost usage if another sink charged and purged it meanwhile', async () => {
  await using harness = await createUsageHarness();
  const granted = await harness.grant();
  const next = () => harness.event(granted);
  await chargeByOtherSink(harness, [next()]);
  const { reader, errors } = await openReader(harness, async () => {
    await chargeByOtherSink(harness, [next(), next()]);
    await harness.nats.purgeMessages(harness.stream, 3);
    await harness.publish([next()]);
  });
  const messages = await reader.gather(new AbortController().signal);
  expect(messages.map(({ sequence }) => sequence)).toEqual([4]);
  expect(errors).toEqual([]);
  await reader.close();
});

it('openUsageStream reports usage that was purged before any sink charged it', async () => {
  await using harness = await createUsageHarness();
  const granted = await harness.grant();
  const next = () => harness.event(granted);
  await chargeByOtherSink(harness, [next()]);
  const { reader, errors } = await openReader(harness, async () => {
    await chargeByOtherSink(harness, [next()]);
    for (let count = 0; count < 3; count += 1) await harness.publish([next()]);
    await harness.nats.purgeMessages(harness.stream, 4);
  });
  await reader.gather(new AbortController().signal);
  expect(errors).toMatchObject([{ expected: 2, sequence: 5, missing: 2 }]);
  await reader.close();
});
