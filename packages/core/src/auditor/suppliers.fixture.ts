import type { Tx } from '@millrace/platform/db';
import {
  toUuid,
  type HoldId,
  type MeterId,
  type OrgId,
  type PayoutId,
  type StatementId,
  type TransferId,
} from '@millrace/platform/ids';
import { nanoUsd } from '@millrace/platform/money';
import { createTenant, insertSupplier, testIds, type TestDatabase } from '@millrace/testing';
import { monthOf } from '../ledger/index.ts';
import { changeMeters, openMeters } from '../metering/index.ts';
import { apply, holdOf, transferOf, usd } from './audited-ledger.fixture.ts';

/** A supplier with a rented machine, payouts and a statement. */
export interface SeededSupplierMoney {
  readonly earner: OrgId;
  readonly supplied: MeterId;
  readonly waiting: PayoutId;
  readonly paidOut: PayoutId;
  readonly rejected: PayoutId;
  readonly payout: TransferId;
  readonly payoutHold: HoldId;
  readonly statement: StatementId;
}

const HOUR_MS = 3_600_000;

export async function seedSupplierMoney(database: TestDatabase, orgId: OrgId): Promise<SeededSupplierMoney> {
  const { orgId: earner, ownerId } = await createTenant(database.db);
  const supplierId = await insertSupplier(database.db, { orgId: earner });
  const supplied = await rentOut(database, orgId, earner);
  // A quarter for each of the three payouts.
  const amount = (await earnedOf(database, supplied)) >> 2n;
  const ids = { waiting: testIds.next('pyo'), paidOut: testIds.next('pyo'), rejected: testIds.next('pyo') };
  const holdCommand = (id: PayoutId) =>
    ({
      do: 'hold',
      of: 'earnings',
      orgId: earner,
      mode: 'live',
      cause: { kind: 'payout', id },
      step: 'request',
      amount: nanoUsd(amount),
      demand: 'new',
    }) as const;
  const results = await apply(database.db, ...Object.values(ids).map(holdCommand));
  const [waiting, paidOut, rejected] = results.map(holdOf) as [HoldId, HoldId, HoldId];
  const settled = (id: PayoutId) =>
    ({ orgId: earner, mode: 'live', cause: { kind: 'payout', id }, step: 'settle' }) as const;
  const [paid] = await apply(
    database.db,
    { ...settled(ids.paidOut), do: 'pay_out', holdId: paidOut, description: 'Payout' },
    { ...settled(ids.rejected), do: 'close', of: 'earnings', holdId: rejected },
  );
  const payout = transferOf(paid);
  const client = await database.connect();
  for (const [id, status, holdId] of [
    [ids.waiting, 'requested', waiting],
    [ids.paidOut, 'paid', paidOut],
    [ids.rejected, 'rejected', rejected],
  ] as const) {
    await client.query(
      `insert into supplier_payouts (id, supplier_id, org_id, amount_nano_usd, status, hold_id, transfer_id, requested_by,
                                     requested_at, settled_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, now(), $9)`,
      [
        toUuid(id),
        toUuid(supplierId),
        toUuid(earner),
        amount,
        status,
        toUuid(holdId),
        status === 'paid' ? toUuid(payout) : null,
        toUuid(ownerId),
        status === 'requested' ? null : new Date(),
      ],
    );
  }
  const statement = testIds.next('stm');
  await client.query(
    `insert into supplier_statements (id, supplier_id, org_id, period_start, period_end, gross_nano_usd, fee_nano_usd,
                                      net_nano_usd, lines, created_at)
     select $1, $2, $3, month.start, month.start + interval '1 month', m.posted_nano_usd,
            m.posted_nano_usd - m.supplier_posted_nano_usd, m.supplier_posted_nano_usd,
            jsonb_build_array(jsonb_build_object('grossNanoUsd', m.posted_nano_usd::text, 'feeNanoUsd',
                                                 (m.posted_nano_usd - m.supplier_posted_nano_usd)::text)), now()
       from meters m, (select date_trunc('month', now() at time zone 'UTC') at time zone 'UTC' as start) as month
      where m.id = $4`,
    [toUuid(statement), toUuid(supplierId), toUuid(earner), toUuid(supplied)],
  );
  await client.end();
  return { earner, supplied, ...ids, payout, payoutHold: paidOut, statement };
}

async function earnedOf(database: TestDatabase, meterId: MeterId): Promise<bigint> {
  const { rows } = await database.query<{ earned: string }>(
    'select supplier_posted_nano_usd::text as earned from meters where id = $1',
    [toUuid(meterId)],
  );
  return BigInt(rows[0]?.earned ?? 0);
}

async function rentOut({ db }: TestDatabase, orgId: OrgId, earner: OrgId): Promise<MeterId> {
  const nowMs = Date.now();
  // In the first hours of a month the hours are shorter, so that all time is in one month, like its statement.
  const hourMs = Math.min(HOUR_MS, Math.floor((nowMs - monthOf(new Date(nowMs)).getTime()) * 0.25));
  const ago = (hours: number): Date => new Date(nowMs - hours * hourMs);
  const run = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
    db.transaction({ name: 'fixture', isolation: 'read committed' }, work);
  const [meter] = await run((tx) =>
    openMeters(tx, orgId, [
      {
        mode: 'live',
        cause: { kind: 'rental', id: 'metered-supplied' },
        name: 'gpu',
        product: 'instance',
        ratePerHour: usd(1),
        quantity: 1,
        unit: 'gpu',
        supplier: { orgId: earner, ratePerHour: usd(0.9) },
        funding: { kind: 'ahead' },
        at: ago(3),
      },
    ]),
  );
  if (meter === undefined) throw new Error('no meter');
  await run((tx) => changeMeters(tx, orgId, [{ do: 'pause', meterId: meter.id, at: ago(0.5) }]));
  // Half an hour more is returned by both.
  await run((tx) => changeMeters(tx, orgId, [{ do: 'close', meterId: meter.id, at: ago(1) }]));
  return meter.id;
}
