import { createCreditLeaseClient, type CreditLeaseClient } from '@millrace/credit-leases/client';
import { createEpochEndPublisher } from '@millrace/credit-leases/protocol';
import { systemClock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { payloadSchemaVersion, type Envelope } from '@millrace/platform/envelope';
import { toUuid, type KeyId, type LeaseId, type OrgId } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import { nanoUsd } from '@millrace/platform/money';
import type { NatsClient } from '@millrace/platform/nats';
import {
  offsetClock,
  connectTestNats,
  createOrganisation,
  createTestDatabase,
  createUser,
  databaseWithClock,
  dropStream,
  startValkeyServer,
  testIds,
  testNames,
  uniqueId,
  type OffsetClock,
  type TestDatabase,
  type TestValkey,
} from '@millrace/testing';
import { applyLedger, readBalance, requireLedgerSuccess } from '../ledger/index.ts';
import {
  createCreditLeaseService,
  createCreditLeaseSweeps,
  type LeaseRules,
  type CreditLeaseService,
  type CreditLeaseSweeps,
} from '../credit-leases/index.ts';
import { insertModel } from './catalog/catalog.store.ts';
import { startUsageSink, type SinkTuning } from './usage/sink.ts';
import { usageSubjects, type UsageEvent } from './usage/usage-event.ts';
import { chargeCheckpoints } from './usage/usage.service.ts';
import { ensureUsageStream } from './usage/usage-stream.ts';

/** Test harness with a ledger, a lease Valkey, a real usage stream, and any number of sinks. */

const rules: LeaseRules = {
  leaseMs: 60_000,
  longestRequestMs: 10_000,
  deadAfterMs: 120_000,
  outageMs: 60_000,
  least: 100n,
  sharePercent: 50,
  growthPauseMs: 5_000,
};
const envelope: Envelope = {
  cell: 1,
  mode: 'live',
  actor: { kind: 'system', id: 'test' },
  schemaVersion: payloadSchemaVersion,
  traceparent: null,
};

/** An organisation with a lease and its holder. */
export interface TestLease {
  readonly orgId: OrgId;
  readonly leaseId: LeaseId;
  readonly gatewayId: string;
}

export interface RequestRow {
  readonly cost: string;
  readonly priced: string;
  readonly outcome: string;
  readonly source: string;
  readonly late: string | null;
  readonly transfer_id: string | null;
}

export interface UsageHarness {
  readonly database: TestDatabase;
  readonly db: Db;
  readonly valkey: TestValkey;
  readonly nats: NatsClient;
  readonly stream: string;
  /** Advances with real time and can be set ahead; the sweeps use it. */
  readonly clock: OffsetClock;
  readonly service: CreditLeaseService;
  readonly sweeps: CreditLeaseSweeps;
  /** Credits ten times the amount and leases at least the amount. */
  grant(amount?: bigint): Promise<TestLease>;
  /** A client that reserves in Valkey. */
  gateway(): CreditLeaseClient;
  credit(amount: bigint): Promise<OrgId>;
  event(granted: TestLease, over?: Partial<UsageEvent>): UsageEvent;
  /** Publishes one message; the stream stores one message per id. */
  publish(events: readonly unknown[], messageId?: string): Promise<number>;
  publishText(subject: string, payload: unknown): Promise<number>;
  /** Simulates the loss of the NATS disk: the stream is deleted and created again by a worker. */
  loseStream(): Promise<void>;
  startSink(tuning?: Partial<SinkTuning>, nats?: Partial<NatsClient>): { stop(): Promise<void> };
  /** Stops all sinks. A sink that a failed test left running would process the usage of the next test. */
  stopSinks(): Promise<void>;
  request(requestId: string): Promise<RequestRow | undefined>;
  charged(orgId: OrgId): Promise<bigint>;
  balance(orgId: OrgId): Promise<{ balance: bigint; held: bigint }>;
  query<Row = Record<string, unknown>>(text: string): Promise<Row[]>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function createUsageHarness(options: { maxBytes?: number } = {}): Promise<UsageHarness> {
  const database = await createTestDatabase();
  const valkey = await startValkeyServer();
  const nats = await connectTestNats();
  const names = testNames();
  const { db } = database;
  const log = createLogger({ name: 'usage', level: 'silent' });
  const clock = offsetClock();
  const { stream, batch } = usageSubjects(names.natsPrefix, 1);
  const makeStream = () =>
    ensureUsageStream(db, nats, {
      prefix: names.natsPrefix,
      cell: 1,
      replicas: 1,
      maxBytes: options.maxBytes ?? 4 * 1_048_576,
    });
  await makeStream();
  await createModels(database);
  const service = createCreditLeaseService({
    db,
    valkey: valkey.client,
    cell: 1,
    clock: systemClock,
    log,
    rules,
  });
  const publishEnd = createEpochEndPublisher(nats, { prefix: names.natsPrefix, envelope });
  const sweeps = createCreditLeaseSweeps({
    db: databaseWithClock(db, clock),
    log,
    cell: 1,
    service,
    rules,
    publishEnd,
    chargeUnfinished: chargeCheckpoints,
  });
  const sinks = new Set<{ stop(): Promise<void> }>();

  async function stopSinks(): Promise<void> {
    const running = [...sinks];
    sinks.clear();
    await Promise.all(running.map((sink) => sink.stop()));
  }

  async function query<Row>(text: string): Promise<Row[]> {
    return (await database.query(text)).rows as Row[];
  }

  async function credit(nano: bigint): Promise<OrgId> {
    const orgId = await createOrganisation(db);
    const amount = nanoUsd(nano);
    await db.transaction({ name: 'top up', isolation: 'read committed' }, async (tx) => {
      const [result] = await applyLedger(tx, [
        {
          do: 'credit',
          orgId,
          mode: 'live',
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
  }

  async function grant(amount = 1_000_000n): Promise<TestLease> {
    const orgId = await credit(10n * amount);
    const gatewayId = `gw-${uniqueId()}.1`;
    const reply = await service.lease({
      orgId,
      mode: 'live',
      cell: 1,
      gatewayId,
      seen: null,
      shortage: amount,
      wanted: amount,
      budgets: [],
    });
    if (reply.outcome !== 'leased') throw new Error(`No lease: ${reply.reason}.`);
    return { orgId, gatewayId, leaseId: reply.leaseId };
  }

  const publishText = async (subject: string, payload: unknown, messageId = uniqueId()): Promise<number> =>
    (await nats.publish(subject, payload, { messageId, envelope })).sequence;

  return {
    database,
    db,
    valkey,
    nats,
    stream,
    clock,
    service,
    sweeps,
    grant,
    credit,
    gateway: () =>
      createCreditLeaseClient({
        valkey: valkey.client,
        requestLease: service.lease,
        publishEnd,
        cell: 1,
        gatewayId: `gw-${uniqueId()}`,
        clock: systemClock,
        log,
      }),
    event: (granted, over = {}) => usageEventOf({ ...granted, ...over }),
    publish: (events, messageId) => publishText(batch, { events }, messageId),
    publishText: (subject, payload) => publishText(`${names.natsPrefix}.usage.1.${subject}`, payload),
    async loseStream() {
      await dropStream(stream);
      await makeStream();
      // Workers ensure the stream repeatedly.
      await makeStream();
    },
    startSink(tuning = {}, instead = {}) {
      const holder = uniqueId();
      const quick = { gatherMs: 5, maintenanceIntervalMs: 100, leaseMs: 1_000, ...tuning };
      const sink = startUsageSink({
        db,
        nats: { ...nats, ...instead },
        clock: systemClock,
        log,
        stream,
        holder,
        tuning: quick,
      });
      sinks.add(sink);
      return sink;
    },
    stopSinks,
    async request(requestId) {
      const [row] = await query<RequestRow>(`
        select cost_nano_usd::text as cost, priced_nano_usd::text as priced, outcome, source,
               late_nano_usd::text as late, transfer_id
          from inference_requests where id = '${toUuid(requestId as never)}'`);
      return row;
    },
    async charged(orgId) {
      const [row] = await query<{ sum: string }>(`
        select coalesce(-sum(amount_nano_usd), 0)::text as sum from ledger_transfers
         where kind = 'charge' and org_id = '${toUuid(orgId)}'`);
      return BigInt(row?.sum ?? 0);
    },
    async balance(orgId) {
      const { balance, held } = await readBalance(db, orgId, 'live', systemClock.now());
      return { balance, held };
    },
    query,
    async [Symbol.asyncDispose]() {
      await stopSinks();
      await dropStream(stream);
      await nats.close();
      await valkey[Symbol.asyncDispose]();
      await database.drop();
    },
  };
}

/** Chat models with a context of 100 000 tokens, with the price of a prompt or completion token. */
const tokenPrices = {
  'model-one': 1_000n,
  'model-two': 1_000n,
  refused: 1_000n,
  'model-dear': 1_000_000_000n,
};

interface TokenPrice {
  readonly model: string;
  readonly nanoUsd: bigint;
  readonly orgId?: OrgId;
  readonly from?: Date;
  readonly until?: Date;
}

export async function setTokenPrice(database: TestDatabase, price: TokenPrice): Promise<void> {
  const { model, nanoUsd: amount, orgId, from = new Date(0), until = null } = price;
  for (const unit of ['prompt_token', 'completion_token']) {
    await database.query(
      `insert into prices (id, org_id, subject_kind, model, model_unit, unit, price_nano_usd, valid_from, valid_until,
                           created_at)
       values ($1, $2, 'model', $3, $4, 'token', $5, $6, $7, now())`,
      [testIds.nextUuid(), orgId === undefined ? null : toUuid(orgId), model, unit, amount, from, until],
    );
  }
}

async function createModels(database: TestDatabase): Promise<void> {
  for (const [name, price] of Object.entries(tokenPrices)) {
    await database.db.transaction({ name: 'create model', isolation: 'read committed' }, (tx) =>
      insertModel(tx, name, 'live', {
        modality: 'chat',
        inputModalities: ['text'],
        contextLength: 100_000,
        maxOutputTokens: null,
        ownedBy: 'tests',
        enabled: true,
        aliases: [],
        visibleTo: null,
        fallbacks: [],
        requestsPerMinute: null,
      }),
    );
    await setTokenPrice(database, { model: name, nanoUsd: price });
  }
}

/** A key row without a usable secret. */
export async function createKey(harness: UsageHarness, orgId: OrgId): Promise<KeyId> {
  const keyId = testIds.next('key');
  const userId = await createUser(harness.db, { name: 'Ada', email: `${keyId.toLowerCase()}@example.com` });
  await harness.query(
    `insert into api_keys (id, org_id, user_id, name, mode, public_id, secret_sha256, scopes, limits)
     values ('${toUuid(keyId)}', '${toUuid(orgId)}', '${toUuid(userId)}', 'used', 'live',
             upper(substr(md5('${keyId}'), 1, 12)), sha256('${keyId}'), '{}', '{}')`,
  );
  return keyId;
}

/** A valid usage event of an invented request. */
export function usageEventOf(over: Partial<UsageEvent>): UsageEvent {
  return {
    kind: 'final',
    requestId: testIds.next('req'),
    orgId: testIds.next('org'),
    mode: 'live',
    keyId: testIds.next('key'),
    leaseId: testIds.next('lse'),
    gatewayId: 'gw-1.1',
    budgetIds: [],
    reservedNanoUsd: '5000',
    amountNanoUsd: '1200',
    pricedNanoUsd: '1200',
    priceIds: [],
    model: 'model-one',
    deployment: 'deployment-one',
    createdAtMs: systemClock.nowMs(),
    streamed: true,
    cancelled: false,
    finishReason: 'stop',
    latencyMs: 120,
    ttftMs: 20,
    generationMs: 100,
    tokensPrompt: 10,
    tokensCached: 4,
    tokensCompletion: 7,
    imagePixelSteps: 0,
    characters: 0,
    attempts: [
      {
        deployment: 'deployment-one',
        startedAtMs: systemClock.nowMs(),
        durationMs: 119,
        status: 200,
        error: null,
      },
    ],
    ...over,
  };
}
