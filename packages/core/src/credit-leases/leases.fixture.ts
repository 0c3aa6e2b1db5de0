import {
  createCreditLeaseClient,
  type CreditLeaseClient,
  type Reservation,
  type ReserveRequest,
} from '@millrace/credit-leases/client';
import type { EpochEnd, LeaseReply, LeaseRequest, RequestLimit } from '@millrace/credit-leases/protocol';
import { SimulatedClock, systemClock } from '@millrace/platform/clock';
import type { Db, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import type { OrgId, RequestId } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import { nanoUsd } from '@millrace/platform/money';
import type { ValkeyClient } from '@millrace/platform/valkey';
import {
  offsetClock,
  createOrganisation,
  createTestDatabase,
  databaseWithClock,
  startValkeyServer,
  testIds,
  uniqueId,
  type OffsetClock,
  type TestDatabase,
  type TestValkey,
  TEST_START_MS,
} from '@millrace/testing';
import { applyLedger, readBalance, requireLedgerSuccess } from '../ledger/index.ts';
import type { LeaseRules } from './lender/lease-ledger.ts';
import { createCreditLeaseService, type CreditLeaseService } from './lender/leases.service.ts';
import { createCreditLeaseSweeps, type CreditLeaseSweeps } from './lender/leases.sweeps.ts';
import type { UsageItem } from './lender/usage-charges.ts';
import { recordEpochEnd } from './lender/lease-holders.store.ts';
import { postUsage, type PostedUsage } from './lender/usage-charges.service.ts';
import { advanceUsageWatermark } from './lender/usage-charges.store.ts';

/** Test harness with a ledger, a Valkey, an in-memory usage stream, and any number of workers and gateways. */

export const testRules: LeaseRules = {
  leaseMs: 60_000,
  longestRequestMs: 10_000,
  deadAfterMs: 120_000,
  outageMs: 60_000,
  least: 100n,
  sharePercent: 50,
  growthPauseMs: 5_000,
};

type Message = { readonly end: EpochEnd } | { readonly usage: UsageItem };

/** An in-memory stream with a sink that processes messages in order when the test calls it. */
export function createTestStream(db: Db) {
  const name = `USAGE_${uniqueId()}`;
  const messages: Message[] = [];
  const ids = new Set<string>();
  let passed = 0;

  async function handle(tx: Tx, message: Message, seq: bigint): Promise<PostedUsage[]> {
    if ('usage' in message) return postUsage(tx, [message.usage]);
    await recordEpochEnd(tx, message.end, { stream: name, seq });
    return [];
  }

  return {
    publishEnd: async (end: EpochEnd): Promise<void> => {
      const id = JSON.stringify({ ...end, throughEpoch: end.throughEpoch.toString() });
      if (!ids.has(id)) messages.push({ end });
      ids.add(id);
    },
    publishUsage: (usage: UsageItem): void => void messages.push({ usage }),
    async sink(upTo = messages.length): Promise<PostedUsage[]> {
      const posted: PostedUsage[] = [];
      for (; passed < upTo; passed += 1) {
        const message = messages[passed];
        if (message === undefined) break;
        const seq = BigInt(passed + 1);
        await db.transaction({ name: 'sink', isolation: 'read committed' }, async (tx) => {
          posted.push(...(await handle(tx, message, seq)));
          await advanceUsageWatermark(tx, name, seq);
        });
      }
      return posted;
    },
  };
}

/** Where a process dies: before the call, or after the other side has executed it. */
export interface CrashPoint {
  readonly at: string;
  readonly when: 'before' | 'after';
}

/** Throws once at the named transaction or script. */
export function createCrashPoints() {
  let next: CrashPoint | null = null;
  const guard = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    const fault = next?.at === what ? next : null;
    if (fault !== null) next = null;
    if (fault?.when === 'before') throw new Error(`died before: ${what}`);
    const result = await work();
    if (fault !== null) throw new Error(`died after: ${what}`);
    return result;
  };
  return {
    dieAt(at: string, when: CrashPoint['when']): void {
      next = { at, when };
    },
    spent: (): boolean => next === null,
    db: (db: Db): Db =>
      ({
        get kysely() {
          return db.kysely;
        },
        clock: db.clock,
        transaction: (options: { name: string }, work: never) =>
          guard(options.name, () => db.transaction(options as never, work)),
      }) as unknown as Db,
    valkey: (valkey: ValkeyClient): ValkeyClient => ({
      ...valkey,
      runLoaded: (script, call) => guard(script.name, () => valkey.runLoaded(script, call)),
      command: (words, options) => guard(words[0] ?? '', () => valkey.command(words, options)),
    }),
  };
}

export interface TestGateway extends CreditLeaseClient {
  readonly requests: () => number;
  readonly clock: SimulatedClock;
  /** Publishes the usage of a reservation and settles it. */
  use(reservation: Reservation, actual: bigint): Promise<void>;
  /** Resolves when no lease request is pending, including background refills. */
  idle(): Promise<void>;
}

export interface LeaseHarness {
  readonly database: TestDatabase;
  readonly db: Db;
  readonly valkey: TestValkey;
  readonly faults: ReturnType<typeof createCrashPoints>;
  readonly stream: ReturnType<typeof createTestStream>;
  readonly service: CreditLeaseService;
  /** The clock of the sweeps. */
  readonly clock: OffsetClock;
  readonly sweeps: CreditLeaseSweeps;
  /** Disconnects Valkey from the gateways, or connects it again. */
  cutGateways(cut: boolean): void;
  /** Adds a worker; the test can pass its own Valkey client. */
  worker(through?: ValkeyClient): CreditLeaseService;
  /** Adds a gateway. A test can intercept its calls to the ledger or Valkey. */
  gateway(options?: {
    ledger?: (request: LeaseRequest) => Promise<LeaseReply>;
    through?: (valkey: ValkeyClient) => ValkeyClient;
  }): TestGateway;
  organisation(nano: bigint, mode?: Mode): Promise<OrgId>;
  balance(orgId: OrgId, mode?: Mode): Promise<{ balance: bigint; held: bigint; available: bigint }>;
  query(text: string): Promise<Record<string, unknown>[]>;
  [Symbol.asyncDispose](): Promise<void>;
}

export const nextRequestId = (): RequestId => testIds.next('req');

/** A limit per day on a subject of its own, so that it does not refill during a slow test. */
export const limitOf = (counts: RequestLimit['counts'], subject: string, limit: number): RequestLimit => ({
  ...{ name: `${counts}-of-key`, scope: 'key', subject, limit, windowMs: 86_400_000, counts },
});

/** A request that is limited only by money. */
export const reserveRequestOf = (orgId: OrgId, amount: bigint): ReserveRequest => ({
  ...{ orgId, mode: 'live', requestId: nextRequestId(), amount, budgets: [], limits: [], tokens: 0 },
});

export function usageOf(reservation: Reservation, amount: bigint): UsageItem {
  const { requestId, orgId, mode, leaseId, gatewayId, budgets, amount: reserved } = reservation;
  if (leaseId === null) throw new Error('A test-mode reservation has no lease to charge.');
  return {
    requestId,
    orgId,
    mode,
    leaseId,
    gatewayId,
    budgets,
    reserved,
    amount,
    priced: amount,
    keyId: null,
    product: 'model-one',
    usedAtMs: TEST_START_MS,
    quantities: { promptTokens: 3 },
  };
}

export async function createLeaseHarness(rules: LeaseRules = testRules): Promise<LeaseHarness> {
  const database = await createTestDatabase();
  const valkey = await startValkeyServer();
  const { db } = database;
  const log = createLogger({ name: 'pots', level: 'silent' });
  const faults = createCrashPoints();
  const clock = offsetClock();
  const stream = createTestStream(db);
  const worker = (through: ValkeyClient = valkey.client): CreditLeaseService =>
    createCreditLeaseService({
      db: faults.db(db),
      valkey: faults.valkey(through),
      cell: 1,
      clock: systemClock,
      log,
      rules,
    });
  const service = worker();
  const sweeps = createCreditLeaseSweeps({
    db: faults.db(databaseWithClock(db, clock)),
    log,
    cell: 1,
    service,
    rules,
    publishEnd: stream.publishEnd,
  });

  let isCut = false;
  const fromGateways: ValkeyClient = {
    ...valkey.client,
    run: (script, call) => (isCut ? Promise.reject(new Error('no answer')) : valkey.client.run(script, call)),
    runLoaded: (script, call) =>
      isCut ? Promise.reject(new Error('no answer')) : valkey.client.runLoaded(script, call),
  };

  function gateway({
    ledger = service.lease,
    through = (reached: ValkeyClient) => reached,
  }: Parameters<LeaseHarness['gateway']>[0] = {}): TestGateway {
    let requests = 0;
    const open = new Set<Promise<unknown>>();
    const own = new SimulatedClock(systemClock.nowMs());
    const client = createCreditLeaseClient({
      valkey: through(fromGateways),
      requestLease: (request) => {
        requests += 1;
        const reply = ledger(request);
        open.add(reply);
        void reply.catch(() => undefined).finally(() => open.delete(reply));
        return reply;
      },
      publishEnd: stream.publishEnd,
      cell: 1,
      gatewayId: `gw-${uniqueId()}`,
      clock: own,
      log,
    });
    return {
      ...client,
      clock: own,
      requests: () => requests,
      async use(reservation, actual) {
        stream.publishUsage(usageOf(reservation, actual));
        await client.settle(reservation, actual);
      },
      idle: async () => void (await Promise.allSettled(open)),
    };
  }

  return {
    database,
    db,
    valkey,
    faults,
    stream,
    service,
    clock,
    sweeps,
    cutGateways: (cut) => void (isCut = cut),
    worker,
    gateway,
    async organisation(nano, mode = 'live') {
      const orgId = await createOrganisation(db);
      if (nano === 0n) return orgId;
      const amount = nanoUsd(nano);
      await db.transaction({ name: 'top up', isolation: 'read committed' }, async (tx) => {
        const [result] = await applyLedger(tx, [
          {
            do: 'credit',
            orgId,
            mode,
            cause: { kind: 'test', id: 'top-up' },
            step: 'once',
            kind: 'top_up',
            amount,
            from: [{ account: { kind: 'payments_clearing' }, amount }],
            description: 'Top-up',
          },
        ]);
        requireLedgerSuccess(result);
      });
      return orgId;
    },
    async balance(orgId, mode = 'live') {
      const { balance, held, available } = await readBalance(db, orgId, mode, systemClock.now());
      return { balance, held, available };
    },
    async query(text) {
      return (await database.query(text)).rows as Record<string, unknown>[];
    },
    async [Symbol.asyncDispose]() {
      await valkey[Symbol.asyncDispose]();
      await database.drop();
    },
  };
}
