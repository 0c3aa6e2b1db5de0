import { parseId, toUuid, type OrgId, type RequestId } from '@millrace/platform/ids';
import { negateUsd } from '@millrace/platform/money';
import { afterAll, describe, expect, it } from 'vitest';
import { listTransfers, type TransferRecord } from '../ledger/index.ts';
import { findBatch, listBatch } from './usage/requests.store.ts';
import type { RequestRecord } from './usage/requests.ts';
import { processMessages, type SinkMessage } from './usage/sink.service.ts';
import { createUsageHarness, type TestLease } from './usage.fixture.ts';
import type { UsageEvent } from './usage/usage-event.ts';

const harness = await createUsageHarness();
afterAll(() => harness[Symbol.asyncDispose]());

const message = (sequence: number, events: readonly UsageEvent[]): SinkMessage => ({
  sequence,
  subject: 'usage.1.batch',
  text: () => JSON.stringify({ events }),
});

const priced = (granted: TestLease, amount: number, over: Partial<UsageEvent> = {}): UsageEvent =>
  harness.event(granted, {
    keyId: granted.orgId.replace('org_', 'key_'),
    reservedNanoUsd: String(amount),
    amountNanoUsd: String(amount),
    pricedNanoUsd: String(amount),
    ...over,
  });

const linesOf = (orgId: OrgId): Promise<readonly TransferRecord[]> =>
  listTransfers(harness.db, orgId, { mode: 'live', kind: 'charge' }, { limit: 50, after: null });

/** All pages of the batch that a ledger line has as its cause. */
async function openLine(orgId: OrgId, line: TransferRecord, limit = 2): Promise<readonly RequestRecord[]> {
  const first = parseId('req', line.cause.id) ?? expect.fail(line.cause.id);
  const batch = (await findBatch(harness.db, orgId, 'live', first)) ?? expect.fail('no batch');
  const all: RequestRecord[] = [];
  for (let after: RequestId | null = null; ; after = all.at(-1)?.id ?? null) {
    const rows = await listBatch(harness.db, orgId, batch, { limit, after });
    all.push(...rows.slice(0, limit));
    if (rows.length <= limit) return all;
  }
}

const sumOf = (requests: readonly RequestRecord[]): bigint =>
  requests.reduce((total, { cost }) => total + cost, 0n);

describe('a ledger line of inference', () => {
  it('has a batch whose requests sum to the line, page by page, to the nano-USD', async () => {
    const granted = await harness.grant();
    const events = [61_900, 1, 77_777, 5, 83_333].map((amount) => priced(granted, amount));
    const others = [3, 4].map((amount) => priced(granted, amount, { model: 'model-two' }));
    await processMessages(harness.db, 'LINES', [message(1, [...events, ...others])]);
    await processMessages(harness.db, 'LINES', [message(2, [priced(granted, 9)])]);
    const lines = await linesOf(granted.orgId);
    expect(lines).toHaveLength(3);
    const opened = await Promise.all(lines.map((line) => openLine(granted.orgId, line)));
    expect(lines.map(({ amount }) => negateUsd(amount))).toEqual(opened.map(sumOf));
    expect(
      opened
        .flat()
        .map(({ id }) => id)
        .toSorted(),
    ).toHaveLength(8);
    expect(new Set(opened.flat().map(({ id }) => id)).size).toBe(8);
  });

  it('equals the sum of its requests even if gateways report more than their lease holds', async () => {
    const lease = await harness.grant(1_000_000n);
    const [{ granted } = { granted: '' }] = await harness.query<{ granted: string }>(
      `select granted_nano_usd::text as granted from pot_leases where id = '${toUuid(lease.leaseId)}'`,
    );
    const amount = Number(granted) - 100_000;
    await processMessages(harness.db, 'HOSTILE', [
      message(
        1,
        [1, 2, 3].map(() => priced(lease, amount)),
      ),
    ]);
    const [line] = await linesOf(lease.orgId);
    const requests = await openLine(lease.orgId, line ?? expect.fail('no line'));
    expect(requests.map(({ cost }) => cost)).toEqual([BigInt(amount), 100_000n, 0n]);
    expect(line?.amount).toBe(0n - sumOf(requests));
    expect(await harness.charged(lease.orgId)).toBe(BigInt(granted));
  });

  it('cannot be opened by another of its requests, by another organisation or in the other mode', async () => {
    const granted = await harness.grant();
    const other = await harness.grant();
    const events = [priced(granted, 10), priced(granted, 20)];
    await processMessages(harness.db, 'FOREIGN', [message(1, events)]);
    const [first, second] = events.map(({ requestId }) => parseId('req', requestId) ?? expect.fail());
    if (first === undefined || second === undefined) throw new Error('No ids.');
    expect(await findBatch(harness.db, granted.orgId, 'live', first)).not.toBeNull();
    expect(await findBatch(harness.db, granted.orgId, 'live', second)).toBeNull();
    expect(await findBatch(harness.db, other.orgId, 'live', first)).toBeNull();
    expect(await findBatch(harness.db, granted.orgId, 'test', first)).toBeNull();
  });
});
