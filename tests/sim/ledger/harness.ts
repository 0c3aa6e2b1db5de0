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

/** The ledger on a database of its own, the oracle beside it, and the clock that both go by. */

export const cell = 1;
const organisations = 10;
const writers = 6;

export type OutcomeCounts = Record<string, number>;

export interface LedgerHarness {
  readonly database: TestDatabase;
  readonly db: Db;
  /** Looks on from outside, and ends the connections of others. */
  readonly client: Client;
  readonly clock: SimulatedClock;
  readonly ids: IdSource;
  readonly oracle: Oracle;
  readonly tenants: readonly Tenant[];
  readonly holds: Hold[];
  readonly transfers: Transfer[];
  /** Commands that were sent, to be sent again. */
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
  const world: LedgerHarness = {
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
  await openAccounts(world);
  return world;
}

/** A payout of what nobody has earned is refused, and opens both accounts, so that their ids are known. */
async function openAccounts(world: LedgerHarness): Promise<void> {
  const commands = world.tenants.map(({ orgId, mode }): LedgerCommand => ({
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
  await applyOnce(world, commands);
  const { rows } = await world.client.query<{ id: string; kind: string; org_id: string; mode: string }>(
    `select id, kind, org_id, mode from ledger_accounts where org_id is not null`,
  );
  for (const row of rows) {
    const tenant = world.oracle.tenant(fromUuid('org', row.org_id), row.mode as Tenant['mode']);
    (row.kind === 'credit' ? tenant.credit : tenant.earned).id = row.id;
  }
}

export async function closeLedgerHarness(world: LedgerHarness): Promise<void> {
  await world.client.end();
  await world.db.close();
  await world.database.drop();
}

export function countOutcome(world: LedgerHarness, what: string, by = 1): void {
  world.tally[what] = (world.tally[what] ?? 0) + by;
}

/** One attempt at a batch, as its caller lives it: an answer, or an error that does not tell whether it happened. */
interface Attempt {
  readonly commands: readonly LedgerCommand[];
  readonly results: readonly LedgerResult[] | null;
  /** Grows with the order in which batches that share an account came to hold it. */
  readonly turn: number;
  readonly xid: string | null;
}

export interface Fault {
  /** After everything is written and before it is committed. */
  readonly before?: 'error' | 'killed';
  /** The connection is cut while the commit is on its way; whether it arrives is left to chance. */
  readonly during?: { readonly afterMs: number };
  /** It is committed, and the caller dies before it hears so. */
  readonly after?: true;
}

let turns = 0;

/** The transaction's own number, by which the server can be asked what became of it. */
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
  world: LedgerHarness,
  commands: readonly LedgerCommand[],
  fault?: Fault,
): Promise<Attempt> {
  let turn = 0;
  let xid: string | null = null;
  let killed: Promise<unknown> = Promise.resolve();
  try {
    const results = await world.db.transaction(
      { name: 'simulated batch', isolation: 'read committed' },
      async (tx) => {
        const answers = await applyLedger(tx, commands);
        // While all the locks are held: whoever shares an account with this batch comes before or after.
        turns += 1;
        turn = turns;
        if (fault === undefined) return answers;
        const session = await identify(tx);
        ({ xid } = session);
        if (fault.before === 'error') throw new Crash('The process fails before it commits.');
        const kill = () => world.client.query('select pg_terminate_backend($1)', [session.pid]);
        if (fault.before === 'killed') await kill();
        else if (fault.during !== undefined) killed = systemClock.sleep(fault.during.afterMs).then(kill);
        return answers;
      },
    );
    return { commands, results: fault?.after === true ? null : results, turn, xid };
  } catch (error) {
    if (fault === undefined) throw error;
    return { commands, results: null, turn, xid };
  } finally {
    await killed;
    if (fault?.before === 'killed' || fault?.during !== undefined) await waitForPoolRecovery(world.db);
  }
}

/** Asks the server itself, not the ledger, whether a transaction is in the books. */
async function isCommitted(world: LedgerHarness, xid: string): Promise<boolean> {
  for (;;) {
    const { rows } = await world.client.query<{ status: string }>(
      'select pg_xact_status($1::xid8) as status',
      [xid],
    );
    const status = rows[0]?.status;
    if (status !== 'in progress') return status === 'committed';
  }
}

/** Applies one batch and holds every answer against the oracle's. */
export async function applyOnce(world: LedgerHarness, commands: readonly LedgerCommand[]): Promise<void> {
  await compareWithOracle(world, await attempt(world, commands));
}

/** Several batches at once, over the same organisations; then the oracle does them in the order in which they came. */
export async function applyConcurrently(
  world: LedgerHarness,
  batches: readonly (readonly LedgerCommand[])[],
): Promise<void> {
  const settled = await Promise.allSettled(batches.map((batch) => attempt(world, batch)));
  const failed = settled.find((one) => one.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  const attempts = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  for (const one of attempts.toSorted((a, b) => a.turn - b.turn)) await compareWithOracle(world, one);
  countOutcome(world, 'batches at once', batches.length);
}

/** A batch that meets a fault, and is then repeated whole by a caller who cannot know what became of it. */
export async function applyWithFault(
  world: LedgerHarness,
  commands: readonly LedgerCommand[],
  fault: Fault,
): Promise<void> {
  const broken = await attempt(world, commands, fault);
  if (broken.results !== null) await compareWithOracle(world, broken);
  else if (broken.xid !== null && (await isCommitted(world, broken.xid))) {
    if (fault.before !== undefined) throw new Error('A batch that failed before its commit is in the books.');
    countOutcome(world, 'commits without an answer');
    for (const command of commands) world.oracle.decide(command, world.clock.nowMs());
  } else countOutcome(world, 'batches undone by a crash');
  await applyOnce(world, commands);
}

async function compareWithOracle(world: LedgerHarness, { commands, results }: Attempt): Promise<void> {
  if (results?.length !== commands.length) throw new Error('A batch was answered with too few results.');
  let grants = false;
  commands.forEach((command, index) => {
    const expected = world.oracle.decide(command, world.clock.nowMs());
    const result = results[index] as LedgerResult;
    const difference = compareResult(world, expected, result);
    if (difference !== null) {
      throw new Error(`${difference}: expected ${show(expected)}, got ${show(result)} for ${show(command)}`);
    }
    grants ||= command.do === 'credit' && command.promo !== undefined;
    countOutcome(
      world,
      expected.ok ? (expected.replayed ? 'repeated' : `done ${command.do}`) : expected.reason,
    );
  });
  if (grants) await recordPromos(world);
}

function compareResult(world: LedgerHarness, expected: Prediction, result: LedgerResult): string | null {
  if (!expected.ok || !result.ok) {
    if (expected.ok || result.ok) return 'refused by one only';
    const same =
      expected.reason === result.reason &&
      expected.available === result.available &&
      expected.budgetId === result.budgetId;
    return same ? null : 'another refusal';
  }
  for (const field of ['replayed', 'amount', 'held', 'shortfall', 'balanceAfter'] as const) {
    if (expected[field] !== result[field]) return `another ${field}`;
  }
  return recordIds(world, expected, result);
}

/** Ids are the ledger's to choose, but a thing has one and keeps it. */
function recordIds(
  world: LedgerHarness,
  { transfer, hold }: Extract<Prediction, { ok: true }>,
  result: Extract<LedgerResult, { ok: true }>,
): string | null {
  if ((transfer === null) !== (result.transferId === null)) return 'a transfer in one only';
  if ((hold === null) !== (result.holdId === null)) return 'a hold in one only';
  if (transfer !== null && result.transferId !== null) {
    if (transfer.id === null) {
      transfer.id = result.transferId;
      world.oracle.transfersById.set(result.transferId, transfer);
      world.transfers.push(transfer);
    } else if (transfer.id !== result.transferId) return 'another transfer';
  }
  if (hold !== null && result.holdId !== null) {
    if (hold.id === null) {
      hold.id = result.holdId;
      world.oracle.holds.set(result.holdId, hold);
      world.holds.push(hold);
    } else if (hold.id !== result.holdId) return 'another hold';
  }
  return null;
}

/** The ids of promotional accounts, which no answer tells: the oldest unknown one of a tenant is its next. */
async function recordPromos(world: LedgerHarness): Promise<void> {
  const waiting = world.tenants.flatMap((tenant) =>
    tenant.money
      .filter(({ what, id }) => what === 'promo' && id.startsWith('z'))
      .map((promo) => ({ tenant, promo })),
  );
  if (waiting.length === 0) return;
  const { rows } = await world.client.query<{ id: string; org_id: string; mode: string }>(
    `select id, org_id, mode from ledger_accounts where kind = 'promo' and id <> all($1::uuid[])
        and org_id = any($2::uuid[]) order by id`,
    [[...knownPromos(world)], waiting.map(({ tenant }) => toUuid(tenant.orgId))],
  );
  for (const { tenant, promo } of waiting) {
    const uuid = toUuid(tenant.orgId);
    const found = rows.findIndex((row) => row.org_id === uuid && row.mode === tenant.mode);
    const [row] = found === -1 ? [] : rows.splice(found, 1);
    if (row === undefined) throw new Error(`${promo.name} is not in the database.`);
    promo.id = row.id;
    world.oracle.promoNames.set(fromUuid('lac', row.id), promo.name);
  }
}

function* knownPromos(world: LedgerHarness): Iterable<string> {
  for (const tenant of world.tenants) {
    for (const { what, id } of tenant.money) if (what === 'promo' && !id.startsWith('z')) yield id;
  }
}

export function show(value: unknown): string {
  return JSON.stringify(value, (key, inner: unknown) => {
    if (key === 'tenant' || key === 'transfer' || key === 'hold' || key === 'legs') return undefined;
    return typeof inner === 'bigint' ? String(inner) : inner;
  });
}
