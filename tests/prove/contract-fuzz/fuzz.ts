import fc from 'fast-check';
import { z } from 'zod';
import { contract, operationsOf, type Operation, type OperationId } from '@millrace/contract';
import type { Random } from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import {
  insertAuditReport,
  insertFleet,
  insertInvoice,
  insertMarketplaceProvider,
  insertStatement,
  insertSupplier,
  insertSupplierMachine,
  type CallResponse,
} from '@millrace/testing';
import { insertCharge } from '../../e2e/access.billing.rows.ts';
import { newDaemonInput } from '../../e2e/access.enrolments.rows.ts';
import { makeNodeUnreachable, insertedProvider } from '../../e2e/access.fleet.rows.ts';
import { insertListedMachine } from '../../e2e/access.instances.rows.ts';
import { personRows, createSignedInPerson, type SignedInPerson } from '../../e2e/access.account.rows.ts';
import {
  createRentalWithTtl,
  createRentalWithoutMachine,
  createUnreachableRental,
  insertPrivateCloudProvider,
  prepareToRent,
  createRunningRental,
} from '../../e2e/access.rentals.rows.ts';
import { insertEarnings } from '../../e2e/access.supplier-money.rows.ts';
import { insertBatchOf, insertUsageRequest } from '../../e2e/access.usage.rows.ts';
import {
  createUnreachableVolume,
  createReadySnapshot,
  createRunningBareMetal,
  createActiveVolume,
} from '../../e2e/access.volumes.rows.ts';
import { createDelivery } from '../../e2e/access.webhooks.rows.ts';
import { callOperation, type CallInput, type Harness } from '../../e2e/harness.ts';
import { isNearStall, StallWatch } from '../stalls.ts';
import { createResponseChecker } from './response-checker.ts';
import { mutationsOf } from './mutate.ts';
import { createPools, type InitialIds, type InitialSuppliers, type Pools } from './id-pools.ts';
import { valuesOf, type JsonSchema } from './sampler.ts';

export interface CallCounts {
  calls: number;
  bodies: number;
  /** Calls that passed authentication and validation and reached the handler. */
  reached: number;
  succeeded: number;
}

export interface FuzzResult {
  readonly tallies: ReadonlyMap<string, CallCounts>;
  readonly failures: readonly string[];
}

/** Error reasons of responses that are sent before a handler runs. */
const beforeHandler = new Set([
  'VALIDATION_FAILED',
  'MALFORMED_JSON',
  'UNSUPPORTED_MEDIA_TYPE',
  'BODY_TOO_LARGE',
  'ROUTE_NOT_FOUND',
  'IDEMPOTENCY_KEY_INVALID',
  'URL_TOO_LONG',
]);

const MAX_FAILURES = 20;

/** Each charge can be reversed once and refunded until it is used up. */
const CHARGE_COUNT = 40;

const NODE_COUNT = 40;
const EXTRA_CALLS = 100;

/** Clusters count as responding for five minutes, and these calls take less than a second. */
const CALLS_PER_REFRESH = 20;

/** Operations without a body need fewer calls: one for this many calls of an operation with a body. */
const bodilessShare = 2;

/** Each allows one bare-metal rental, since no worker frees the capacity again. */
const BARE_METAL_COUNT = 8;

/**
 * Calls every served operation with bodies sampled from its schema and with mutations of them. Each response must have a status
 * that the published document declares, and a body that fits its schema.
 */
export async function fuzz(
  harness: Harness,
  options: { readonly bodies: number; readonly seed: number; readonly random: Random },
): Promise<FuzzResult> {
  const { random } = options;
  const served = new Set(harness.fixture.api.server.served());
  const targets = operationsOf(contract).filter(({ id }) => served.has(id));
  const check = createResponseChecker();
  const charges: string[] = [];
  for (let made = 0; made < CHARGE_COUNT; made += 1) charges.push(await insertCharge(harness, harness.acme));
  const readied = await insertSwitchableRentals(harness);
  await prepareToRent(harness, harness.acme);
  for (let made = 0; made < BARE_METAL_COUNT; made += 1)
    await prepareToRent(harness, harness.acme, 'bare-metal');
  await insertPrivateCloudProvider(harness);
  const requests = [
    await insertUsageRequest(harness, harness.acme),
    await insertUsageRequest(harness, harness.other),
  ];
  const batches = [await insertBatchOf(harness, harness.acme), await insertBatchOf(harness, harness.other)];
  await insertEarnings(harness, harness.acme);
  const suppliers = await insertSuppliers(harness);
  const forRent = [await insertListedMachine(harness), await insertListedMachine(harness)];
  const inserted = { ...(await insertNodes(harness)), suppliers, forRent };
  const storage = {
    volumeId: String(await createActiveVolume(harness, harness.acme)),
    rentalId: await createRunningBareMetal(harness, harness.acme),
  };
  const { params: restorable } = await createReadySnapshot(harness, harness.acme);
  const snapshot = { volumeId: restorable?.storageVolumeId ?? '', snapshotId: restorable?.snapshotId ?? '' };
  const lost = await insertUnreachable(harness);
  const { db } = harness.fixture;
  const billingDocuments = {
    invoices: [await insertInvoice(db, harness.acme.organisation.id)],
    reports: [await insertAuditReport(db, harness.acme.organisation.id)],
  };
  const sent = await createDelivery(harness, harness.acme);
  const pools = createPools(harness, random, {
    charges,
    readied,
    requests,
    batches,
    storage,
    billingDocuments,
    sent,
    snapshot,
    lost,
    ...inserted,
  });
  const tallies = new Map<string, CallCounts>(
    targets.map(({ id }) => [id, { calls: 0, bodies: 0, reached: 0, succeeded: 0 }]),
  );
  const failures: string[] = [];
  const withBody = targets.filter(({ body }) => body !== undefined).length;
  const rounds = Math.ceil(options.bodies / withBody);
  const samples = targets.map((operation, index) => {
    const count = operation.body === undefined ? Math.ceil(rounds / bodilessShare) : rounds;
    return samplesOf(operation, count, options.seed + index);
  });

  using stallWatch = new StallWatch();
  let calls = 0;
  const callOnce = async (operation: Operation, sample: Sample, tally: CallCounts): Promise<void> => {
    const input = toInput(operation, sample, pools, random);
    if (calls % CALLS_PER_REFRESH === 0) await refreshClusters(harness);
    calls += 1;
    const response = await repeatedAfterStalls(stallWatch, () =>
      callAsAllowedCaller(harness, operation, input, random),
    );
    pools.note(operation.id, response);
    tally.calls += 1;
    if (input.body !== undefined) tally.bodies += 1;
    if (response.status === operation.response.status) tally.succeeded += 1;
    if (!beforeHandler.has(String(response.json?.reason))) tally.reached += 1;
    const wrong = check(operation, response);
    if (wrong !== null && failures.length < MAX_FAILURES) {
      failures.push(`${operation.id} ${JSON.stringify(input).slice(0, 500)}: ${wrong}`);
    }
  };

  for (let round = 0; round < rounds; round += 1) {
    for (const [index, operation] of targets.entries()) {
      const sample = sampleFor(operation, samples[index] ?? [], round);
      const tally = tallies.get(operation.id);
      if (sample !== undefined && tally !== undefined) await callOnce(operation, sample, tally);
    }
  }
  // In a short run all calls of an operation may fail by chance.
  for (const [index, operation] of targets.entries()) {
    const tally = tallies.get(operation.id);
    if (tally === undefined || tally.succeeded > 0) continue;
    for (const sample of samplesOf(operation, EXTRA_CALLS, options.seed + targets.length + index)) {
      if (tally.succeeded === 0) await callOnce(operation, sample, tally);
    }
  }
  for (const [id, tally] of tallies) {
    if (tally.succeeded === 0) failures.push(`${id}: none of ${tally.calls} calls succeeded`);
  }
  return { tallies, failures };
}

const MAX_ATTEMPTS = 5;
const afterStallMs = 1_000;

/** Repeats a call that got a 503 during a stall, as clients do. */
async function repeatedAfterStalls(
  watched: StallWatch,
  callOf: () => Promise<CallResponse>,
): Promise<CallResponse> {
  for (let attempt = 1; ; attempt += 1) {
    const startedMs = systemClock.monotonicMs();
    const response = await callOf();
    const when = { startedMs, endedMs: systemClock.monotonicMs() };
    const mayRepeat = response.status === 503 && attempt < MAX_ATTEMPTS;
    if (!mayRepeat || !isNearStall(watched.stalls, when, afterStallMs)) return response;
  }
}

/** Does the work of processes that do not run here: reads listing changes and reports that clusters respond. */
async function refreshClusters(harness: Harness): Promise<void> {
  while ((await harness.fixture.api.listing.step()) === 'busy');
  await harness.fixture.db.kysely
    .updateTable('clusters')
    .set(({ fn }) => ({ beat_at: fn<Date>('now', []), last_seen_at: fn<Date>('now', []) }))
    .where('status', '=', 'connected')
    .execute();
}

/** Operations for session users accept no key. Each call has a new user, because it may end its own session. */
async function callAsAllowedCaller(
  harness: Harness,
  operation: Operation,
  input: CallInput,
  random: Random,
): Promise<CallResponse> {
  const key = operation.document === 'admin' ? harness.operator.owner.key : harness.acme.owner.key;
  if (operation.auth !== 'person') return callOperation(harness, operation, input, key);
  const person = await createSignedInPerson(harness);
  // Half of the calls name the user's own resources. The others, and those whose resource cannot be created, use the sample.
  const own = random.chance(0.5) ? await ownInput(harness, operation, person) : undefined;
  const body = own?.body ?? input.body;
  const named = own?.params === undefined ? {} : { params: own.params, body };
  const headers = { ...input.headers, ...person.session.bearer() };
  return callOperation(harness, operation, { ...input, ...named, headers }, undefined);
}

/** Undefined once the organisation has reached its daily limit of invitations. */
async function ownInput(
  harness: Harness,
  operation: Operation,
  person: SignedInPerson,
): Promise<CallInput | undefined> {
  try {
    return await personRows[operation.id as OperationId]?.own(harness, person);
  } catch (error) {
    if (String(error).includes('INVITATION_LIMIT_REACHED')) return undefined;
    throw error;
  }
}

/** Calls without a body are spread over the whole run, because most need resources that other calls create. */
function sampleFor(operation: Operation, samples: readonly Sample[], round: number): Sample | undefined {
  if (operation.body !== undefined) return samples[round];
  return round % bodilessShare === 0 ? samples[round / bodilessShare] : undefined;
}

/** Nodes that may be drained, quarantined and removed, and one that stays. */
async function insertNodes(harness: Harness): Promise<Pick<InitialIds, 'nodes' | 'steady'>> {
  const { nodeIds } = await insertFleet(harness.fixture.db, { nodes: NODE_COUNT });
  const [nodeId = '', ...nodes] = nodeIds;
  const { key } = harness.operator.owner;
  const node = await callOperation(harness, contract.operations.adminGetNode, { params: { nodeId } }, key);
  const gpuIds = (node.json.gpus as readonly { readonly id: string }[]).map(({ id }) => id);
  return { nodes, steady: { nodeId, gpuIds } };
}

const UNREACHABLE_COUNT = 4;

async function insertUnreachable(harness: Harness): Promise<InitialIds['lost']> {
  const { nodeIds } = await insertFleet(harness.fixture.db, { nodes: UNREACHABLE_COUNT });
  const [rentals, volumes]: [string[], string[]] = [[], []];
  for (const nodeId of nodeIds) {
    await makeNodeUnreachable(harness, nodeId);
    rentals.push(String(await createUnreachableRental(harness, harness.other)));
    volumes.push(String(await createUnreachableVolume(harness, harness.other)));
  }
  return { rentals, volumes, nodes: nodeIds };
}

const MACHINE_COUNT = 10;

/** Two suppliers with machines. The caller's is rejected, so that sampled calls can apply again and approve it. */
async function insertSuppliers({ fixture: { db }, acme, other }: Harness): Promise<InitialSuppliers> {
  const inserted = async (count: number): Promise<string[]> => {
    const ids: string[] = [];
    for (let nth = 0; nth < count; nth += 1) {
      ids.push((await insertSupplierMachine(db, { orgId: acme.organisation.id })).nodeId);
    }
    return ids;
  };
  await insertMarketplaceProvider(db, insertedProvider.region);
  const machines = { steady: await inserted(MACHINE_COUNT), leaving: await inserted(MACHINE_COUNT) };
  const statements = [await insertStatement(db, acme.organisation.id)];
  const victim = await insertSupplier(db, { orgId: other.organisation.id });
  const own = await insertSupplier(db, { orgId: acme.organisation.id, status: 'rejected' });
  const daemons = [await newDaemonInput(), await newDaemonInput(), await newDaemonInput()];
  return { ids: { own, victim }, machines, statements, daemons };
}

/** Each rental accepts one stop or reboot, since no worker executes it. */
const SWITCHABLE_RENTAL_COUNT = 8;

async function insertSwitchableRentals(harness: Harness): Promise<InitialIds['readied']> {
  const made = async (count: number, make: typeof createRunningRental): Promise<string[]> => {
    const ids: string[] = [];
    for (let nth = 0; nth < count; nth += 1) ids.push(String(await make(harness, harness.acme)));
    return ids;
  };
  return {
    startRental: await made(1, createRunningRental),
    stopRental: await made(SWITCHABLE_RENTAL_COUNT, createRunningRental),
    rebootRental: await made(SWITCHABLE_RENTAL_COUNT, createRunningRental),
    extendRental: await made(1, createRentalWithTtl),
    // Only workers can read the console of an existing machine.
    getRentalConsole: await made(1, createRentalWithoutMachine),
  };
}

interface Sample {
  readonly params: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
  /** The body was mutated deliberately and must not be filled from the pools. */
  readonly mutated: boolean;
}

function samplesOf(operation: Operation, count: number, seed: number): Sample[] {
  const params = operation.params === undefined ? fc.constant({}) : valuesOf(schemaOf(operation.params));
  const query = operation.query === undefined ? fc.constant({}) : valuesOf(schemaOf(operation.query));
  const plain = operation.body === undefined ? fc.constant(undefined) : valuesOf(schemaOf(operation.body));
  const valid = fc.record({ params, query, body: plain, mutated: fc.constant(false) });
  const broken = fc.record({
    params,
    query: fc.oneof(query, mutationsOf(query)),
    body: operation.body === undefined ? plain : mutationsOf(plain),
    mutated: fc.constant(true),
  });
  const either = fc.oneof({ weight: 3, arbitrary: valid }, { weight: 2, arbitrary: broken });
  return fc.sample(either, { numRuns: count, seed }) as Sample[];
}

function schemaOf(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
}

function toInput(operation: Operation, sample: Sample, pools: Pools, random: Random): CallInput {
  const named = (values: Readonly<Record<string, unknown>>): Record<string, string> =>
    Object.fromEntries(
      Object.entries(values ?? {}).flatMap(([name, value]) => {
        // No sampled text is a valid cursor, so most calls leave the cursor out.
        if (name === 'cursor' && random.chance(0.7)) return [];
        const text = pools.idFor(name, operation.id) ?? (value === undefined ? undefined : textOf(value));
        return text === undefined ? [] : [[name, text]];
      }),
    );
  const signed = sample.mutated ? null : pools.signed(operation.id);
  if (signed !== null) return signed;
  const body = sample.mutated ? sample.body : pools.fill(operation.id, sample.body);
  return {
    params: named(sample.params),
    query: named(sample.query),
    ...(body === undefined ? {} : { body }),
    ...(random.chance(0.3) ? { headers: { 'idempotency-key': `fuzz-${random.int(0, 5_000)}` } } : {}),
  };
}

/** An empty path segment would match another route, so it becomes a space. */
function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text === '' ? ' ' : text.toWellFormed().slice(0, 300);
}
