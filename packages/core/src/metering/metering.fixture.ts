import type { SimulatedClock } from '@millrace/platform/clock';
import { createDb, type Db } from '@millrace/platform/db';
import { createIdSource, toUuid, type OrgId } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { outboxShards } from '@millrace/platform/outbox';
import {
  createOrganisation,
  createTestDatabase,
  hybridClock,
  longDbTimeouts,
  testClock,
  uniqueId,
  type TestDatabase,
} from '@millrace/testing';
import { sql } from 'kysely';
import {
  applyLedger,
  createBudget,
  listTransfers,
  readBalance,
  requireLedgerSuccess,
  type MoneyCause,
  type TransferRecord,
} from '../ledger/index.ts';
import type { RequiredAction } from './dunning.store.ts';
import {
  closeMeter,
  listRequiredActions,
  openMeters,
  pauseMeter,
  resumeMeter,
  sweepMeters,
  type ClosedMeter,
  type Meter,
  type MeterSpec,
  type SweepReport,
} from './index.ts';

/** Real tables and the real ledger, with a simulated clock. */
export interface MeteringHarness {
  readonly db: Db;
  readonly database: TestDatabase;
  readonly clock: SimulatedClock;
  organisation(balanceUsd: number): Promise<OrgId>;
  topUp(orgId: OrgId, usd: number, as?: 'paid' | 'promo'): Promise<void>;
  meterSpec(fields?: Partial<MeterSpec>): MeterSpec;
  open(orgId: OrgId, fields?: Partial<MeterSpec>): Promise<Meter>;
  pause(meter: Meter, at?: Date): Promise<Meter>;
  resume(meter: Meter, at?: Date): Promise<Meter>;
  close(meter: Meter, at?: Date, rest?: 'owed' | 'waived'): Promise<ClosedMeter>;
  sweep(): Promise<SweepReport>;
  balance(orgId: OrgId): Promise<{ balance: bigint; held: bigint; available: bigint }>;
  transfers(orgId: OrgId, cause?: MoneyCause): Promise<readonly TransferRecord[]>;
  /** Charges less credits of a resource. */
  paid(orgId: OrgId, cause: MoneyCause): Promise<bigint>;
  rows<Row>(text: string): Promise<Row[]>;
  /** Advances the clock, with a sweep every `everyMs`. */
  pass(ms: number, everyMs?: number): Promise<void>;
  /** The types of an organisation's events, oldest first. */
  events(orgId: OrgId): Promise<readonly string[]>;
  actionsOf(orgId: OrgId): Promise<readonly ActionSummary[]>;
  createStoppingBudget(orgId: OrgId, limit: NanoUsd): Promise<unknown>;
  drop(): Promise<void>;
}

interface ActionSummary extends Pick<RequiredAction, 'action' | 'reason' | 'state'> {
  readonly id: string;
}

export const usd = (amount: number): NanoUsd => nanoUsd(BigInt(Math.round(amount * 1_000_000_000)));
export const HOUR_MS = 3_600_000;
export const MINUTE_MS = 60_000;
export const allShards: readonly number[] = Array.from({ length: outboxShards }, (_, shard) => shard);
export const quiet = createLogger({ name: 'metering', level: 'silent' });

export async function createMeteringHarness(): Promise<MeteringHarness> {
  const database = await createTestDatabase();
  const clock = testClock();
  const ids = createIdSource({ clock, cell: 1 });
  const db = createDb({
    ...longDbTimeouts,
    url: database.url,
    poolSize: 6,
    clock: hybridClock(clock),
    ids,
    log: quiet,
  });
  const isolation = 'read committed';
  const run = <T>(work: Parameters<typeof db.transaction<T>>[1]): Promise<T> =>
    db.transaction({ name: 'test', isolation }, work);

  const topUp = async (orgId: OrgId, amount: number, as: 'paid' | 'promo' = 'paid'): Promise<void> => {
    const [result] = await run((tx) =>
      applyLedger(tx, [
        {
          do: 'credit',
          kind: 'top_up',
          orgId,
          mode: 'live',
          cause: { kind: 'payment', id: uniqueId() },
          step: 'paid',
          amount: usd(amount),
          from: [{ account: { kind: 'payments_clearing' }, amount: usd(amount) }],
          ...(as === 'promo' ? { promo: { priority: 1, expiresAt: null } } : {}),
          description: 'Top-up',
        },
      ]),
    );
    requireLedgerSuccess(result);
  };
  const meterSpec = (fields: Partial<MeterSpec> = {}): MeterSpec => ({
    mode: 'live',
    cause: { kind: 'rental', id: uniqueId() },
    name: 'gpu',
    product: 'rental',
    ratePerHour: usd(3.6),
    quantity: 8,
    unit: 'gpu',
    funding: { kind: 'ahead' },
    at: clock.now(),
    ...fields,
  });
  const rows = async <Row>(text: string): Promise<Row[]> =>
    (await sql.raw<Row>(text).execute(db.kysely)).rows;
  const transfers = (orgId: OrgId, cause?: MoneyCause): Promise<readonly TransferRecord[]> =>
    listTransfers(
      db,
      orgId,
      { mode: 'live', ...(cause === undefined ? {} : { cause }) },
      { limit: 1_000, after: null },
    );
  const sweep = (): Promise<SweepReport> => sweepMeters(db, { shards: allShards, log: quiet });
  return {
    db,
    database,
    clock,
    sweep,
    topUp,
    meterSpec,
    rows,
    transfers,
    organisation: async (balanceUsd) => {
      const orgId = await createOrganisation(database.db);
      if (balanceUsd > 0) await topUp(orgId, balanceUsd);
      return orgId;
    },
    open: async (orgId, fields) => {
      const [meter] = await run((tx) => openMeters(tx, orgId, [meterSpec(fields)]));
      if (meter === undefined) throw new Error('No meter was opened.');
      return meter;
    },
    pause: (meter, at = clock.now()) => run((tx) => pauseMeter(tx, meter.orgId, meter.id, at)),
    resume: (meter, at = clock.now()) => run((tx) => resumeMeter(tx, meter.orgId, meter.id, at)),
    close: (meter, at = clock.now(), rest = 'owed') =>
      run((tx) => closeMeter(tx, meter.orgId, meter.id, at, rest)),
    balance: async (orgId) => {
      const { balance, held, available } = await readBalance(db, orgId, 'live', clock.now());
      return { balance, held, available };
    },
    paid: async (orgId, cause) => {
      const all = await transfers(orgId, cause);
      return all.reduce((sum, transfer) => sum - transfer.amount, 0n);
    },
    pass: async (ms, everyMs = MINUTE_MS) => {
      const endMs = clock.nowMs() + ms;
      while (clock.nowMs() < endMs) {
        await clock.advance(Math.min(everyMs, endMs - clock.nowMs()));
        await sweep();
      }
    },
    events: async (orgId) => {
      const found = await rows<{ type: string }>(
        `select type from outbox where org_id = '${toUuid(orgId)}' order by seq`,
      );
      return found.map(({ type }) => type);
    },
    actionsOf: async (orgId) =>
      (await listRequiredActions(db, orgId, 'live')).map(({ action, cause, reason, state }) => ({
        ...{ action, reason, state },
        id: cause.id,
      })),
    createStoppingBudget: (orgId, limit) =>
      run((tx) =>
        createBudget(tx, {
          ...{ orgId, limit, mode: 'live', name: 'all', keyIds: null, period: 'total' },
          thresholdsPercent: [100],
          onExceeded: 'stop_everything',
        }),
      ),
    drop: async () => {
      await db.close();
      await database.drop();
    },
  };
}
