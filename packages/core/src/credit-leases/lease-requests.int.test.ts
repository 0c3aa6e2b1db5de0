import { createCreditLeaseClient } from '@millrace/credit-leases/client';
import {
  epochEndSchema,
  createLeaseRequester,
  createRecallRequester,
  createEpochEndPublisher,
} from '@millrace/credit-leases/protocol';
import { systemClock } from '@millrace/platform/clock';
import { payloadSchemaVersion, type Envelope } from '@millrace/platform/envelope';
import type { IncomingMessage } from '@millrace/platform/nats';
import { connectTestNats, eventually, testLog, testNames, uniqueId } from '@millrace/testing';
import { afterAll, expect, it } from 'vitest';
import { serveCreditLeases } from './index.ts';
import { reserveRequestOf, createLeaseHarness } from './leases.fixture.ts';

const names = testNames();
const prefix = names.natsPrefix;
const envelope: Envelope = {
  cell: 1,
  mode: 'live',
  actor: { kind: 'system', id: 'gateway' },
  schemaVersion: payloadSchemaVersion,
  traceparent: null,
};
const channel = { prefix, envelope, homeCell: 1, timeoutMs: 5_000 };

const harness = await createLeaseHarness();
const nats = await connectTestNats();
await nats.ensureStream({
  name: names.natsStream('USAGE'),
  subjects: [`${prefix}.usage.>`],
  replicas: 1,
  maxAgeMs: 60_000,
  maxBytes: 1_048_576,
  whenFull: 'refuse new',
  duplicateWindowMs: 60_000,
});
afterAll(async () => {
  await nats.close();
  await harness[Symbol.asyncDispose]();
});

it('a gateway leases credit, spends, returns the rest to a recall and reports the end of its epoch, over NATS', async () => {
  const served = serveCreditLeases({
    db: harness.db,
    valkey: harness.valkey.client,
    nats,
    prefix,
    cell: 1,
    clock: systemClock,
    log: testLog(),
    outageMs: 60_000,
    longestRequestMs: 60_000,
  });
  const orgId = await harness.organisation(1_000_000_000n);
  const client = createCreditLeaseClient({
    valkey: harness.valkey.client,
    requestLease: createLeaseRequester(nats, channel),
    publishEnd: createEpochEndPublisher(nats, { prefix, envelope }),
    cell: 1,
    gatewayId: `gw-${uniqueId()}`,
    clock: systemClock,
    log: testLog(),
  });
  const got = await client.reserve(reserveRequestOf(orgId, 1_000n));
  expect(got).toMatchObject({ epoch: 1n });
  if ('refused' in got) return;
  const freed = await createRecallRequester(nats, channel)({ orgId, mode: 'live', amount: 1_000_000_000n });
  expect(freed).toBe(100_000_000n - 1_000n);
  await client.settle(got, 400n);
  await client.close();

  const ends: IncomingMessage[] = [];
  const spec = { stream: names.natsStream('USAGE'), durable: 'sink', ackWaitMs: 5_000, maxInFlight: 1 };
  const reader = await nats.consume(
    { ...spec, maxDeliveries: -1 },
    async (message) => void ends.push(message),
  );
  await eventually({ what: 'the end marker' }, async () => ends.length === 1);
  expect(epochEndSchema.parse(ends[0]?.json())).toEqual({
    orgId,
    mode: 'live',
    cell: 1,
    gatewayId: got.gatewayId,
    throughEpoch: 1n,
  });
  await reader.close();
  await served.stop();
});

it('a gateway rejects requests with 503 without a worker, and a worker ignores malformed requests', async () => {
  const orgId = await harness.organisation(1_000n);
  const client = createCreditLeaseClient({
    valkey: harness.valkey.client,
    requestLease: createLeaseRequester(nats, { ...channel, timeoutMs: 100 }),
    publishEnd: createEpochEndPublisher(nats, { prefix, envelope }),
    cell: 1,
    gatewayId: `gw-${uniqueId()}`,
    clock: systemClock,
    log: { warn: () => undefined },
  });
  expect(await client.reserve(reserveRequestOf(orgId, 1n))).toMatchObject({ refused: 'LEDGER_UNAVAILABLE' });
});
