import { toUuid } from '@millrace/platform/ids';
import { eventually } from '@millrace/testing';
import { expect, it } from 'vitest';
import { createUsageHarness } from '../usage.fixture.ts';
import { findLaterUsage } from './later-usage.ts';

it('findLaterUsage lists and sums the requests in the stream that were charged later or are waiting', async () => {
  await using harness = await createUsageHarness();
  const { db, nats, stream } = harness;
  const granted = await harness.grant();
  const [before, after, lost, waiting] = [1, 2, 3, 4].map((nth) =>
    harness.event(granted, { amountNanoUsd: String(nth * 100), createdAtMs: 1_700_000_000_000 + nth }),
  );
  if (before === undefined || after === undefined || lost === undefined || waiting === undefined)
    expect.fail();
  // The sink keeps processed messages, as that of a worker does.
  const sink = harness.startSink({ retainMs: 3_600_000 });
  await harness.publish([before, after, lost]);
  for (const { requestId } of [before, after, lost])
    await eventually({ what: 'the row of the request' }, () => harness.request(requestId));
  await sink.stop();
  // As in a database that was restored: one charge is older than the point, one was made again, one is missing.
  const where = (requestId: string): string => `where request_id = '${toUuid(requestId as never)}'`;
  await harness.query(
    `update usage_charges set recorded_at = now() - interval '1 hour' ${where(before.requestId)}`,
  );
  await harness.query(`delete from usage_charges ${where(lost.requestId)}`);
  await harness.publish([waiting]);
  const point = new Date(Date.now() - 600_000);
  expect(await findLaterUsage({ db, nats }, stream, point)).toEqual({
    requests: 3,
    nanoUsd: '900',
    outcomes: { charged: { requests: 1, nanoUsd: '200' }, waiting: { requests: 2, nanoUsd: '700' } },
    first: [after, lost, waiting].map(({ requestId, orgId, model, amountNanoUsd, createdAtMs }) => ({
      ...{ requestId, orgId, model, nanoUsd: amountNanoUsd },
      usedAt: new Date(createdAtMs).toISOString(),
      outcome: requestId === after.requestId ? 'charged' : 'waiting',
    })),
    streamFrom: new Date(before.createdAtMs).toISOString(),
  });
});

it('a sink purges no message that was processed within the retained time', async () => {
  await using harness = await createUsageHarness();
  const granted = await harness.grant();
  const sink = harness.startSink({ retainMs: 3_600_000, maintenanceIntervalMs: 20 });
  for (const event of [harness.event(granted), harness.event(granted)]) {
    await harness.publish([event]);
    await eventually({ what: 'the row of the request' }, () => harness.request(event.requestId));
  }
  await sink.stop();
  expect(await harness.nats.streamState(harness.stream)).toMatchObject({ firstSequence: 1, lastSequence: 2 });
  // A sink without this time purges both.
  const next = harness.startSink({ retainMs: 0, maintenanceIntervalMs: 20 });
  const event = harness.event(granted);
  await harness.publish([event]);
  await eventually({ what: 'the stream to be empty' }, async () => {
    const state = await harness.nats.streamState(harness.stream);
    return state?.firstSequence === 4;
  });
  await next.stop();
});
