import type { SimulatedClock } from '@millrace/platform/clock';
import { createDb, type Db, type Tx } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import { createIdSource, toUuid, type NodeId, type OrgId, type UserId } from '@millrace/platform/ids';
import { ppm, type NanoUsd } from '@millrace/platform/money';
import { outboxShards } from '@millrace/platform/outbox';
import {
  createTenant,
  createTestDatabase,
  hybridClock,
  longDbTimeouts,
  insertRentals,
  insertSupplier,
  insertSupplierMachine,
  testClock,
  uniqueId,
  type TestDatabase,
} from '@millrace/testing';
import { sql } from 'kysely';
import { findingsOf, runAudit } from '../../auditor/index.ts';
import { HOUR_MS, quiet, usd } from '../../customers.fixture.ts';
import {
  ensureUser,
  issueUnrestrictedKey,
  systemAuditContext,
  type CallContext,
} from '../../identity/index.ts';
import { applyLedger, requireLedgerSuccess, type LedgerCommand } from '../../ledger/index.ts';
import { changeMeters, openMeters, sweepMeters, type Meter, type MeterChange } from '../../metering/index.ts';
import { supplierRate } from './supplier-fee.ts';

/** Suppliers and tenants with a real ledger, on a clock that tests advance. */

export { HOUR_MS, quiet, usd };
const allShards = Array.from({ length: outboxShards }, (_, shard) => shard);

export interface SupplierMoneyHarness {
  readonly database: TestDatabase;
  readonly db: Db;
  readonly clock: SimulatedClock;
  within<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  supplier(): Promise<SeededSupplier>;
  tenant(balanceUsd: number): Promise<{ readonly orgId: OrgId; readonly userId: UserId }>;
  apply(...commands: LedgerCommand[]): Promise<void>;
  /** Opens the meter of a resource that a tenant rents from a supplier. */
  rent(tenant: OrgId, supplier: OrgId, request: RentRequest): Promise<Meter>;
  change(change: MeterChange, orgId: OrgId): Promise<void>;
  /** Advances the clock and posts the meters. */
  pass(ms: number): Promise<void>;
  sweep(): Promise<void>;
  account(supplier: OrgId): Promise<{ readonly balance: bigint; readonly held: bigint }>;
  rows<Row>(text: string): Promise<Row[]>;
  /** The findings of the auditor as sentences. */
  drift(): Promise<readonly string[]>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface SeededSupplier {
  readonly orgId: OrgId;
  readonly userId: UserId;
  readonly call: CallContext;
  readonly testCall: CallContext;
}

export interface RentRequest {
  readonly rate: NanoUsd;
  readonly feePpm: number;
  readonly gpus?: number;
  /** The instance of the meter; an unknown one by default. */
  readonly causeId?: string;
}

export async function createSupplierMoneyHarness(): Promise<SupplierMoneyHarness> {
  const database = await createTestDatabase();
  const clock = testClock();
  const ids = createIdSource({ clock, cell: 1 });
  const db = createDb({
    ...longDbTimeouts,
    url: database.url,
    poolSize: 8,
    clock: hybridClock(clock),
    ids,
    log: quiet,
  });
  const within = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
    db.transaction({ name: 'test', isolation: 'read committed' }, work);
  const rows = async <Row>(text: string): Promise<Row[]> =>
    (await sql.raw<Row>(text).execute(db.kysely)).rows;
  const apply = async (...commands: LedgerCommand[]): Promise<void> => {
    (await within((tx) => applyLedger(tx, commands))).map((result) => requireLedgerSuccess(result));
  };
  const sweep = async (): Promise<void> => {
    await sweepMeters(db, { shards: allShards, log: quiet });
  };

  const callOf = async (orgId: OrgId, userId: UserId, mode: 'live' | 'test'): Promise<CallContext> => {
    const [person] = await rows<{ email: string }>(`select email from users where id = '${toUuid(userId)}'`);
    if (person === undefined) throw new Error('no user');
    const cause = systemAuditContext('test', mode);
    const { key } = await within(async (tx) => {
      const user = await ensureUser(tx, { email: person.email });
      return issueUnrestrictedKey(tx, cause, { orgId, user, mode, name: mode });
    });
    return { orgId, keyId: key.id, cause };
  };

  return {
    database,
    db,
    clock,
    within,
    rows,
    apply,
    sweep,
    supplier: async () => {
      const { orgId, ownerId: userId } = await createTenant(db);
      await insertSupplier(db, { orgId });
      await sql`update suppliers set applied_at = ${clock.now()}, approved_at = ${clock.now()}
                 where org_id = ${toUuid(orgId)}`.execute(db.kysely);
      const client = await database.connect();
      await client.query('update organisations set supplier_since = $1 where id = $2', [
        clock.now(),
        toUuid(orgId),
      ]);
      await client.end();
      const call = await callOf(orgId, userId, 'live');
      return { orgId, userId, call, testCall: await callOf(orgId, userId, 'test') };
    },
    tenant: async (balanceUsd) => {
      const { orgId, ownerId: userId } = await createTenant(db);
      if (balanceUsd > 0) await apply(grantOf(orgId, usd(balanceUsd)));
      return { orgId, userId };
    },
    rent: async (tenant, supplier, { rate, feePpm, gpus = 1, causeId = uniqueId() }) => {
      const [meter] = await within((tx) =>
        openMeters(tx, tenant, [
          {
            mode: 'live',
            cause: { kind: 'instance', id: causeId },
            name: `supplied ${uniqueId()}`,
            product: 'instance',
            ratePerHour: rate,
            quantity: gpus,
            unit: 'gpu',
            supplier: { orgId: supplier, ratePerHour: supplierRate(rate, ppm(feePpm)) },
            funding: { kind: 'ahead' },
            at: clock.now(),
          },
        ]),
      );
      if (meter === undefined) throw new Error('no meter');
      return meter;
    },
    change: async (change, orgId) => {
      await within((tx) => changeMeters(tx, orgId, [change]));
    },
    pass: async (ms) => {
      await clock.advance(ms);
      await sweep();
    },
    account: async (supplier) => {
      const [row] = await rows<{ balance_nano_usd: bigint; held_nano_usd: bigint }>(
        `select balance_nano_usd, held_nano_usd from ledger_accounts
          where kind = 'supplier_payable' and mode = 'live' and org_id = '${toUuid(supplier)}'`,
      );
      return { balance: row?.balance_nano_usd ?? 0n, held: row?.held_nano_usd ?? 0n };
    },
    drift: async () => {
      const report = await runAudit(db, { kind: 'full', whenBusy: 'unrecorded' });
      if (report === null) throw new Error('nothing was audited');
      return findingsOf(report, 'error').map(({ check, sentence }) => `${check}: ${sentence}`);
    },
    [Symbol.asyncDispose]: async () => {
      await db.close();
      await database.drop();
    },
  };
}

export const grantOf = (orgId: OrgId, amount: NanoUsd): Extract<LedgerCommand, { do: 'credit' }> => ({
  do: 'credit',
  kind: 'grant',
  orgId,
  mode: 'live',
  cause: { kind: 'operator', id: uniqueId() },
  step: 'grant',
  amount,
  from: [{ account: { kind: 'grants' }, amount }],
  description: 'Grant',
});

/** An instance of a tenant on a supplier's machine, so that its meters have a known machine. */
export async function seedInstance(
  db: Db,
  who: { readonly tenant: OrgId; readonly userId: UserId; readonly supplier: OrgId },
): Promise<{ readonly causeId: string; readonly nodeId: NodeId }> {
  const { nodeId, clusterId } = await insertSupplierMachine(db, { orgId: who.supplier });
  const [rental] = await insertRentals(db, {
    orgId: who.tenant,
    userId: who.userId,
    clusterId,
    nodeIds: [nodeId],
    live: 0,
    ended: 1,
    kind: 'instance',
    brief: true,
  });
  if (rental === undefined) throw new Error('no rental');
  await db.transaction({ name: 'plant an instance', isolation: 'read committed' }, ({ kysely }) =>
    sql`
      insert into instances (rental_id, org_id, mode, name, node_id, cluster_name, price_nano_usd_per_gpu_hour, fee_ppm,
                             record)
      values (${toUuid(rental.id)}, ${toUuid(who.tenant)}, 'live', ${`calm-river-${uniqueId().toLowerCase()}`},
              ${toUuid(nodeId)}, 'planted', 1, 0, '{}')`.execute(kysely),
  );
  return { causeId: String(rental.wireId), nodeId };
}

/** The reason of a refusal, or `done`; any other error fails the test. */
export async function reasonOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'done',
    (error: unknown) => {
      if (error instanceof Fault) return error.reason;
      throw error;
    },
  );
}
