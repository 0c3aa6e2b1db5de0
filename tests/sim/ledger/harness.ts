import type { LedgerCommand, LedgerResult } from '@millrace/core/ledger';
import { applyLedger } from '@millrace/core/ledger';
import type { Random } from '@millrace/runners';
import { SimulatedClock, systemClock } from '@millrace/platform/clock';
import { createDb, type Db, type Tx } from '@millrace/platform/db';
import { createIdSource, fromUuid, toUuid, type IdSource } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import { nanoUsd } from '@millrace/platform/money';
import { ensureUp } from '@millrace/services';
import {
  createTestDatabase,
  hybridClock,
  longDbTimeouts,
  waitForPoolRecovery,
  TEST_START_MS,
  type TestDatabase,
} from '@millrace/testing';
import type { Client } from 'pg';
import type { Hold, Tenant, Transfer } from './accounts.ts';
import { Oracle, type Prediction } from './oracle.ts';

/** The ledger on a private database, the oracle, and the clock that both use. */

export const cell = 1;
const organisations = 10;
const writers = 6;

export type OutcomeCounts = Record<string, number>;

export interface LedgerHarness {
  readonly database: TestDatabase;
  readonly db: Db;
  /** Reads the database directly and terminates other connections. */
  readonly client: Client;
  readonly clock: SimulatedClock;
  readonly ids: IdSource;
  readonly oracle: Oracle;
  readonly tenants: readonly Tenant[];
  readonly holds: Hold[];
  readonly transfers: Transfer[];
  readonly sent: LedgerCommand[];
  readonly tally: OutcomeCounts;
  queue: LedgerCommand[];
  steps: number;
}

const fillFrom = (random: Random) => (bytes: Uint8Array) => {
  for (let index = 0; index < bytes.length; index += 1) bytes[index] = random.int(0, 255);
};

export async function createLedgerHarness(random: Random): Promise<LedgerHarness> {
  await ensureUp(['postgres']);
  const database = await createTestDatabase();
  const clock = new SimulatedClock(TEST_START_MS + random.int(0, 40 * 86_400_000));
  const ids = createIdSource({ clock, cell, random: fillFrom(random) });
  const db = createDb({
    ...longDbTimeouts,
    url: database.url,
    poolSize: writers + 2,
    clock: hybridClock(clock),
    ids,
    log: createLogger({ name: 'simulation', level: 'fatal' }),
  });
  const client = await database.connect();
  const oracle = new Oracle();
  oracle.nowMs = clock.nowMs();
  const tenants: Tenant[] = [];
  for (let number = 0; number < organisations; number += 1) {
    const orgId = ids.next('org');
    await client.query('insert into organisations (id, name, slug, home_cell) values ($1, $2, $3, $4)', [
      toUuid(orgId),
      `Tenant ${number}`,
      `tenant-${number}`,
      cell,
    ]);
    const keyIds = [ids.next('key'), ids.next('key')];
    tenants.push(oracle.addTenant(orgId, 'live', keyIds));
    if (random.chance(0.3)) tenants.push(oracle.addTenant(orgId, 'test', keyIds));
  }
  const harness: LedgerHarness = {
    database,
    db,
    client,
    clock,
    ids,
    oracle,
    tenants,
    holds: [],
    transfers: [],
    sent: [],
    tally: {},
    queue: [],
    steps: 0,
  };
  await openAccounts(harness);
  return harness;
}

/** Opens both accounts of each tenant with a payout that is refused, so that their ids are known. */
async function openAccounts(harness: LedgerHarness): Promise<void> {
  const commands = harness.tenants.map(({ orgId, mode }): LedgerCommand => ({
    do: 'debit',
    kind: 'payout',
    orgId,
    mode,
    cause: { kind: 'start', id: 'start' },
    step: `open ${mode}`,
    amount: nanoUsd(1n),
    to: [{ account: { kind: 'payments_clearing' }, amount: nanoUsd(1n) }],
    whenShort: 'refuse',
    description: 'Nothing',
  }));
  await applyOnce(harness, commands);
  const { rows } = await harness.client.query<{ id: string; kind: string; org_id: string; mode: string }>(
    `select id, kind, org_id, mode from ledger_accounts where org_id is not null`,
  );
  for (const row of rows) {
    const tenant = harness.oracle.tenant(fromUuid('org', row.org_id), row.mode as Tenant['mode']);
    (row.kind === 'credit' ? tenant.credit : tenant.earned).id = row.id;
  }
}

export async function closeLedgerHarness(harness: LedgerHarness): Promise<void> {
  await harness.client.end();
  await harness.db.close();
  await harness.database.drop();
}

export function countOutcome(harness: LedgerHarness, what: string, by = 1): void {
  harness.tally[what] = (harness.tally[what] ?? 0) + by;
}

/** One attempt at a batch as its caller sees it; results are null if the outcome is unknown. */
interface Attempt {
  readonly commands: readonly LedgerCommand[];
  readonly results: readonly LedgerResult[] | null;
  /** Order in which batches that share an account locked it. */
  readonly turn: number;
  readonly xid: string | null;
}

export interface Fault {
  /** After all writes and before the commit. */
  readonly before?: 'error' | 'killed';
  /** Terminates the connection during the commit, whose outcome is then unknown. */
  readonly during?: { readonly afterMs: number };
  /** The commit succeeds and the caller dies before it gets the result. */
  readonly after?: true;
}

let turns = 0;

/** Returns the transaction id, by which the server reports the outcome, and the backend's pid. */
async function identify(tx: Tx): Promise<{ xid: string; pid: number }> {
  const { xid, pid } = await tx.kysely
    .selectNoFrom((eb) => [
      eb.cast<string>(eb.fn('pg_current_xact_id', []), 'text').as('xid'),
      eb.fn<number>('pg_backend_pid', []).as('pid'),
    ])
    .executeTakeFirstOrThrow();
  return { xid, pid };
}

class Crash extends Error {}

async function attempt(
  harness: LedgerHarness,
  commands: readonly LedgerCommand[],
  fault?: Fault,
): Promise<Attempt> {
  let turn = 0;
  let xid: string | null = null;
  let killed: Promise<unknown> = Promise.resolve();
  try {
    const results = await harness.db.transaction(
      { name: 'simulated batch', isolation: 'read committed' },
      async (tx) => {
        const responses = await applyLedger(tx, commands);
        // All locks are held here, so each batch that shares an account takes its turn before or after this one.
        turns += 1;
        turn = turns;
        if (fault === undefined) return responses;
        const session = await identify(tx);
        ({ xid } = session);
        if (fault.before === 'error') throw new Crash('The process fails before it commits.');
        const kill = () => harness.client.query('select pg_terminate_backend($1)', [session.pid]);
        if (fault.before === 'killed') await kill();
        else if (fault.during !== undefined) killed = systemClock.sleep(fault.during.afterMs).then(kill);
        return responses;
      },
    );
    return { commands, results: fault?.after === true ? null : results, turn, xid };
  } catch (error) {
    if (fault === undefined) throw error;
    return { commands, results: null, turn, xid };
  } finally {
    await killed;
    if (fault?.before === 'killed' || fault?.during !== undefined) await waitForPoolRecovery(harness.db);
  }
}

/** Asks the server, not the ledger, whether a transaction was committed. */
async function isCommitted(harness: LedgerHarness, xid: string): Promise<boolean> {
  for (;;) {
    const { rows } = await harness.client.query<{ status: string }>(
      'select pg_xact_status($1::xid8) as status',
      [xid],
    );
    const status = rows[0]?.status;
    if (status !== 'in progress') return status === 'committed';
  }
}

export async function applyOnce(harness: LedgerHarness, commands: readonly LedgerCommand[]): Promise<void> {
  await compareWithOracle(harness, await attempt(harness, commands));
}

/** Applies batches concurrently to the same organisations. The oracle then applies them in the order of their locks. */
export async function applyConcurrently(
  harness: LedgerHarness,
  batches: readonly (readonly LedgerCommand[])[],
): Promise<void> {
  const settled = await Promise.allSettled(batches.map((batch) => attempt(harness, batch)));
  const failed = settled.find((one) => one.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  const attempts = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  for (const one of attempts.toSorted((a, b) => a.turn - b.turn)) await compareWithOracle(harness, one);
  countOutcome(harness, 'batches at once', batches.length);
}

/** Injects a fault into a batch, then repeats the whole batch, as a caller does that does not know the outcome. */
export async function applyWithFault(
  harness: LedgerHarness,
  commands: readonly LedgerCommand[],
  fault: Fault,
): Promise<void> {
  const broken = await attempt(harness, commands, fault);
  if (broken.results !== null) await compareWithOracle(harness, broken);
  else if (broken.xid !== null && (await isCommitted(harness, broken.xid))) {
    if (fault.before !== undefined)
      throw new Error('A batch that failed before its commit is in the ledger.');
    countOutcome(harness, 'commits without an answer');
    for (const command of commands) harness.oracle.decide(command, harness.clock.nowMs());
  } else countOutcome(harness, 'batches undone by a crash');
  await applyOnce(harness, commands);
}

async function compareWithOracle(harness: LedgerHarness, { commands, results }: Attempt): Promise<void> {
  if (results?.length !== commands.length) throw new Error('A batch returned a wrong number of results.');
  let grants = false;
  commands.forEach((command, index) => {
    const expected = harness.oracle.decide(command, harness.clock.nowMs());
    const result = results[index] as LedgerResult;
    const difference = compareResult(harness, expected, result);
    if (difference !== null) {
      throw new Error(`${difference}: expected ${show(expected)}, got ${show(result)} for ${show(command)}`);
    }
    grants ||= command.do === 'credit' && command.promo !== undefined;
    countOutcome(
      harness,
      expected.ok ? (expected.replayed ? 'repeated' : `done ${command.do}`) : expected.reason,
    );
  });
  if (grants) await recordPromos(harness);
}

function compareResult(harness: LedgerHarness, expected: Prediction, result: LedgerResult): string | null {
  if (!expected.ok || !result.ok) {
    if (expected.ok || result.ok) return 'refused by only one of ledger and oracle';
    const same =
      expected.reason === result.reason &&
      expected.available === result.available &&
      expected.budgetId === result.budgetId;
    return same ? null : 'different refusal';
  }
  for (const field of ['replayed', 'amount', 'held', 'shortfall', 'balanceAfter'] as const) {
    if (expected[field] !== result[field]) return `different ${field}`;
  }
  return recordIds(harness, expected, result);
}

/** The ledger chooses ids, but each transfer and hold must keep its id. */
function recordIds(
  harness: LedgerHarness,
  { transfer, hold }: Extract<Prediction, { ok: true }>,
  result: Extract<LedgerResult, { ok: true }>,
): string | null {
  if ((transfer === null) !== (result.transferId === null))
    return 'a transfer in only one of ledger and oracle';
  if ((hold === null) !== (result.holdId === null)) return 'a hold in only one of ledger and oracle';
  if (transfer !== null && result.transferId !== null) {
    if (transfer.id === null) {
      transfer.id = result.transferId;
      harness.oracle.transfersById.set(result.transferId, transfer);
      harness.transfers.push(transfer);
    } else if (transfer.id !== result.transferId) return 'different transfer id';
  }
  if (hold !== null && result.holdId !== null) {
    if (hold.id === null) {
      hold.id = result.holdId;
      harness.oracle.holds.set(result.holdId, hold);
      harness.holds.push(hold);
    } else if (hold.id !== result.holdId) return 'different hold id';
  }
  return null;
}

/** Reads the ids of promotional accounts, which no result contains. A tenant's unknown ids match its accounts by age. */
async function recordPromos(harness: LedgerHarness): Promise<void> {
  const waiting = harness.tenants.flatMap((tenant) =>
    tenant.money
      .filter(({ what, id }) => what === 'promo' && id.startsWith('z'))
      .map((promo) => ({ tenant, promo })),
  );
  if (waiting.length === 0) return;
  const { rows } = await harness.client.query<{ id: string; org_id: string; mode: string }>(
    `select id, org_id, mode from ledger_accounts where kind = 'promo' and id <> all($1::uuid[])
        and org_id = any($2::uuid[]) order by id`,
    [[...knownPromos(harness)], waiting.map(({ tenant }) => toUuid(tenant.orgId))],
  );
  for (const { tenant, promo } of waiting) {
    const uuid = toUuid(tenant.orgId);
    const found = rows.findIndex((row) => row.org_id === uuid && row.mode === tenant.mode);
    const [row] = found === -1 ? [] : rows.splice(found, 1);
    if (row === undefined) throw new Error(`${promo.name} is not in the database.`);
    promo.id = row.id;
    harness.oracle.promoNames.set(fromUuid('lac', row.id), promo.name);
  }
}

function* knownPromos(harness: LedgerHarness): Iterable<string> {
  for (const tenant of harness.tenants) {
    for (const { what, id } of tenant.money) if (what === 'promo' && !id.startsWith('z')) yield id;
  }
}

export function show(value: unknown): string {
  return JSON.stringify(value, (key, inner: unknown) => {
    if (key === 'tenant' || key === 'transfer' || key === 'hold' || key === 'legs') return undefined;
    return typeof inner === 'bigint' ? String(inner) : inner;
  });
}
