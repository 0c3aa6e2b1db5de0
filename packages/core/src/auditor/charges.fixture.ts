import type { Db, Tx } from '@millrace/platform/db';
import {
  toUuid,
  type LeaseId,
  type MeterId,
  type OrgId,
  type PaymentId,
  type RequestId,
  type TransferId,
} from '@millrace/platform/ids';
import { outboxShards } from '@millrace/platform/outbox';
import { databaseWithClock, insertRequest, testIds, testLog, type TestDatabase } from '@millrace/testing';
import { changeMeters, openMeters, sweepMeters, type Meter, type MeterSpec } from '../metering/index.ts';
import { apply, ledgerCommandBase, hold, holdOf, transferOf, usd } from './audited-ledger.fixture.ts';

/** Charges for metered resources, a payment, and a lease with its requests. */
export interface SeededCharges {
  readonly running: MeterId;
  readonly paused: MeterId;
  readonly closed: MeterId;
  readonly payment: PaymentId;
  readonly topUp: TransferId;
  readonly lease: LeaseId;
  readonly request: RequestId;
  readonly usage: TransferId;
}

const HOUR_MS = 3_600_000;

export async function seedCharges(database: TestDatabase, orgId: OrgId): Promise<SeededCharges> {
  const { db } = database;
  const meters = await runMeters(db, orgId);
  await seedMeteredResources(database, [meters.running, meters.paused]);
  return {
    running: meters.running.id,
    paused: meters.paused.id,
    closed: meters.closed.id,
    ...(await payIn(database, orgId)),
    ...(await useTokens(database, orgId)),
  };
}

/** Meters that began hours ago by the real clock, so that they have time to post. */
async function runMeters(db: Db, orgId: OrgId) {
  const nowMs = Date.now();
  const ago = (hours: number): Date => new Date(nowMs - hours * HOUR_MS);
  const request = (name: string): MeterSpec => ({
    mode: 'live',
    cause: { kind: 'rental', id: `metered-${name}` },
    name: 'gpu',
    product: 'rental',
    ratePerHour: usd(1),
    quantity: 1,
    unit: 'gpu',
    funding: { kind: 'ahead' },
    at: ago(3),
  });
  const run = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
    db.transaction({ name: 'fixture', isolation: 'read committed' }, work);
  const opened = await run((tx) =>
    openMeters(tx, orgId, [request('running'), request('paused'), request('closed')]),
  );
  await sweepMeters(databaseWithClock(db, new Date(nowMs)), {
    shards: [...Array(outboxShards).keys()],
    log: testLog(),
  });
  const [running, paused, closed] = opened as [Meter, Meter, Meter];
  await run((tx) =>
    changeMeters(tx, orgId, [
      { do: 'pause', meterId: paused.id, at: ago(1) },
      { do: 'pause', meterId: closed.id, at: ago(2) },
    ]),
  );
  await run((tx) => changeMeters(tx, orgId, [{ do: 'resume', meterId: closed.id, at: ago(0.5) }]));
  await run((tx) => changeMeters(tx, orgId, [{ do: 'close', meterId: closed.id, at: ago(0.25) }]));
  return { running, paused, closed };
}

async function seedMeteredResources(database: TestDatabase, meters: readonly Meter[]): Promise<void> {
  await database.query(`
    create table test_things (kind text, id text, org_id uuid, mode text);
    create or replace view metered_things as select * from test_things`);
  for (const { cause, orgId, mode } of meters) {
    await database.query('insert into test_things values ($1, $2, $3, $4)', [
      cause.kind,
      cause.id,
      toUuid(orgId),
      mode,
    ]);
  }
}

async function payIn(
  database: TestDatabase,
  orgId: OrgId,
): Promise<Pick<SeededCharges, 'payment' | 'topUp'>> {
  const payment = testIds.next('pay');
  await database.query(
    `insert into payments (id, org_id, mode, provider, amount_nano_usd, credited_nano_usd, state, success_url,
                           cancel_url, created_at, paid_at)
     values ($1, $2, 'live', 'stripe', $3, $3, 'paid', 'https://example.com', 'https://example.com', now(), now())`,
    [toUuid(payment), toUuid(orgId), usd(20)],
  );
  const [done] = await apply(database.db, {
    ...ledgerCommandBase(orgId),
    cause: { kind: 'payment', id: payment },
    step: 'paid',
    do: 'credit',
    kind: 'top_up',
    amount: usd(20),
    from: [{ account: { kind: 'payments_clearing' }, amount: usd(20) }],
    description: 'Top-up',
  });
  return { payment, topUp: transferOf(done) };
}

async function useTokens(
  database: TestDatabase,
  orgId: OrgId,
): Promise<Pick<SeededCharges, 'lease' | 'request' | 'usage'>> {
  const [lease, request, other] = [testIds.next('lse'), testIds.next('req'), testIds.next('req')];
  const keyId = testIds.next('key');
  const [held] = await apply(database.db, hold(orgId, usd(5)));
  const amount = usd(2);
  const [done] = await apply(database.db, {
    ...ledgerCommandBase(orgId),
    cause: { kind: 'inference', id: request },
    do: 'post',
    holdId: holdOf(held),
    amount,
    to: [{ account: { kind: 'revenue', product: 'inference' }, amount }],
    afterwards: 'keep',
    keyId,
    description: 'Inference',
  });
  const usage = transferOf(done);
  const client = await database.connect();
  await client.query(
    `insert into pot_leases (id, org_id, mode, cell, epoch, generation, hold_id, granted_nano_usd, settled_nano_usd,
                             used_at, state, opened_at, expires_at)
     values ($1, $2, 'live', 1, 1, 1, $3, $4, $5, now(), 'open', now(), now())`,
    [toUuid(lease), toUuid(orgId), toUuid(holdOf(held)), usd(5), amount],
  );
  await client.query(
    `insert into usage_charges (request_id, org_id, mode, lease_id, gateway_id, product, amount_nano_usd, transfer_id,
                                outcome, recorded_at, key_id)
     select request, $2, 'live', $3, 'gateway', 'model', $4, $5, 'charged', now(), $6
       from unnest($1::uuid[]) as request`,
    [[toUuid(request), toUuid(other)], toUuid(orgId), toUuid(lease), usd(1), toUuid(usage), toUuid(keyId)],
  );
  for (const id of [request, other]) {
    const cost = usd(1);
    await insertRequest(database.db, { id, orgId, keyId, leaseId: lease, cost, transferId: usage });
  }
  await client.end();
  return { lease, request, usage };
}
