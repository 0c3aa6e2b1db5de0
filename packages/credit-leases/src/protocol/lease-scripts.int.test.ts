import type { BudgetId, LeaseId, RequestId } from '@millrace/platform/ids';
import { createReferenceLimiter, toDecision, type RateDecision } from '@millrace/platform/limiter';
import { isScriptUnknown } from '@millrace/platform/valkey';
import { eventually, startValkeyServer, testIds, type TestValkey } from '@millrace/testing';
import fc from 'fast-check';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import {
  reserveFromModel,
  closeLease,
  enlargeLease,
  openLease,
  recallFromModel,
  settleInModel,
  type ModelLease,
} from './lease-model.fixture.ts';
import {
  deleteOldLeases,
  isServerReady,
  valkeyLeaseKey,
  ValkeyLeases,
  prepareServer,
  readIncarnation,
  type LeaseOwner,
} from './valkey-leases.ts';
import { costsFor, limitSetOf, withCosts } from './request-limits.ts';
import { leaseScripts, type LeaseServer } from './lease-scripts.ts';

const namespace = '0123456789ab';
let present: LeaseServer;

async function prepare(generation: bigint): Promise<LeaseServer> {
  const made = { namespace, generation, incarnation: await readIncarnation(server.client) };
  await prepareServer(server.client, made);
  return made;
}

const server = await startValkeyServer();
afterAll(() => server[Symbol.asyncDispose]());

let generation = 0n;
beforeEach(async () => {
  generation += 10n;
  present = await prepare(generation);
});

const budgetIds = ['bdg_a', 'bdg_b'] as readonly string[] as readonly BudgetId[];
const newOwner = (): LeaseOwner => ({ orgId: testIds.next('org'), mode: 'live' });
const requestId = (nth: number): RequestId => `req_${nth}` as RequestId;
const leaseId = testIds.next('lse');
const none: ReadonlyMap<BudgetId, bigint> = new Map();
const unlimited = limitSetOf(testIds.next('org'), []);
const requestOf = (amount: bigint) =>
  ({ amount, least: amount, budgets: [], limits: unlimited, costs: [] }) as const;

type Move =
  | {
      do: 'open' | 'enlarge';
      epoch: number;
      lease: string;
      granted: number;
      budget: number;
      admitForMs: number;
    }
  | {
      do: 'reserve';
      epoch: number;
      gateway: string;
      request: number;
      amount: number;
      modest: boolean;
      budgets: number;
      tokens: number;
    }
  | {
      do: 'settle';
      epoch: number;
      gateway: string;
      ends: { request: number; actual: number }[];
      back: number;
    }
  | { do: 'recall'; epoch: number; known: number; wanted: number }
  | { do: 'close'; epoch: number }
  | { do: 'wait'; ms: number };

const epochs = fc.integer({ min: 1, max: 3 });
// Small amounts collide; large amounts check that Lua prints them exactly.
const amounts = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 2 ** 50 }));
const gateways = fc.constantFrom('g1', 'g2');
const requests = fc.integer({ min: 1, max: 4 });
const lending = fc.record({
  do: fc.constantFrom('open', 'enlarge'),
  epoch: epochs,
  // The ledger gives an epoch to one lease; after a restore another lease may claim the same epoch.
  lease: fc.constantFrom('lse_a', 'lse_a', 'lse_b'),
  granted: amounts,
  budget: amounts,
  admitForMs: fc.integer({ min: 0, max: 100 }),
});
const moves: fc.Arbitrary<Move> = fc.oneof(
  lending as fc.Arbitrary<Move>,
  fc.record({
    do: fc.constant('reserve' as const),
    epoch: epochs,
    gateway: gateways,
    request: requests,
    amount: amounts,
    modest: fc.boolean(),
    budgets: fc.integer({ min: 0, max: 2 }),
    tokens: fc.integer({ min: 0, max: 12 }),
  }),
  fc.record({
    do: fc.constant('settle' as const),
    epoch: epochs,
    gateway: gateways,
    ends: fc.uniqueArray(fc.record({ request: requests, actual: amounts }), {
      minLength: 1,
      maxLength: 3,
      selector: ({ request }) => request,
    }),
    back: fc.integer({ min: 0, max: 6 }),
  }),
  fc.record({ do: fc.constant('recall' as const), epoch: epochs, known: amounts, wanted: amounts }),
  fc.record({ do: fc.constant('close' as const), epoch: epochs }),
  fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 60 }) }),
);

/** Applies the same steps to a lease in Valkey and to the model. */
function createPair() {
  let nowMs = 1_000_000;
  let model: ModelLease | null = null;
  const real = new ValkeyLeases(server.client, present, () => nowMs);
  const name = newOwner();
  const limiter = createReferenceLimiter({ nowMs: () => nowMs });
  const limits = limitSetOf(name.orgId, [
    { name: 'requests', scope: 'key', subject: 'k', limit: 5, windowMs: 200, counts: 'requests' },
    { name: 'tokens', scope: 'key', subject: 'k', limit: 30, windowMs: 200, counts: 'tokens' },
  ]);
  const rated = (costs: readonly number[]) => ({ tag: name.orgId, policies: withCosts(limits, costs) });
  const left = ({ policies }: RateDecision) => policies.map(({ remaining, resetMs }) => [remaining, resetMs]);

  async function grantLease(move: Extract<Move, { do: 'open' | 'enlarge' }>): Promise<[unknown, unknown]> {
    const [budget = expect.fail('no budget')] = budgetIds;
    const leaseId = move.lease as LeaseId;
    const { admitForMs } = move;
    const grant = { leaseId, epoch: BigInt(move.epoch), granted: BigInt(move.granted), admitForMs };
    const budgets = new Map([[budget, BigInt(move.budget)]]);
    const expected = { ...grant, budgets, admitUntilMs: nowMs + move.admitForMs };
    const [response, next] = move.do === 'open' ? openLease(model, expected) : enlargeLease(model, expected);
    model = next;
    const { outcome } =
      move.do === 'open'
        ? await real.open(name, { ...grant, budgets })
        : await real.enlarge(name, { ...grant, budgets });
    return [outcome, response];
  }

  async function reserve(move: Extract<Move, { do: 'reserve' }>): Promise<[unknown, unknown]> {
    const amount = BigInt(move.amount);
    const base = { epoch: BigInt(move.epoch), amount, least: move.modest ? amount / 3n : amount };
    const budgets = budgetIds.slice(0, move.budgets);
    const costs = costsFor(limits, move.tokens);
    const reservation = `${move.gateway}:${move.request}`;
    const isKnown = model?.epoch === base.epoch && model.reservations.has(reservation);
    const seen = await limiter.peek(rated(costs));
    let response: object = { outcome: 'limited' };
    let counted = seen;
    if (isKnown || seen.allowed) {
      const [admission, next] = reserveFromModel(model, { ...base, reservation, budgets, nowMs });
      if (!isKnown && admission.outcome === 'admitted') counted = await limiter.consume(rated(costs));
      model = next;
      response = admission;
    }
    const {
      granted: _,
      used,
      ...result
    } = {
      granted: 0n,
      ...(await real.reserve(name, {
        ...{ ...base, budgets, limits, costs, gatewayId: move.gateway, requestId: requestId(move.request) },
      })),
    };
    const rate = toDecision(true, limits.limits, costs, used ?? expect.fail('not looked at'));
    return [
      { ...result, left: left(rate) },
      { ...response, left: left(counted) },
    ];
  }

  async function settleMany(move: Extract<Move, { do: 'settle' }>): Promise<[unknown, unknown]> {
    const epoch = BigInt(move.epoch);
    const requests = move.ends.map(({ request, actual }) => ({
      requestId: requestId(request),
      actual: BigInt(actual),
    }));
    let found = 0;
    for (const { request, actual } of move.ends) {
      const end = { epoch, reservation: `${move.gateway}:${request}`, actual: BigInt(actual) };
      const [response, next] = settleInModel(model, end);
      model = next;
      if (response === 'settled') found += 1;
    }
    await limiter.giveBack(rated([0, move.back]));
    const [key = '', size = '', window = ''] = [limits.keys[1], limits.sizes[1], limits.windows[1]];
    const back = [{ key, size, window, units: move.back }];
    const got = await real.settle(name, { epoch, gatewayId: move.gateway, requests, back });
    return [got.outcome === 'settled' ? got.found : 0, found];
  }

  async function step(move: Move): Promise<[unknown, unknown]> {
    if (move.do === 'open' || move.do === 'enlarge') return grantLease(move);
    if (move.do === 'reserve') return reserve(move);
    if (move.do === 'wait') {
      nowMs += move.ms;
      return [null, null];
    }
    const epoch = BigInt(move.epoch);
    if (move.do === 'settle') return settleMany(move);
    if (move.do === 'recall') {
      const request = { epoch, known: BigInt(move.known), wanted: BigInt(move.wanted) };
      const [response, next] = recallFromModel(model, request);
      model = next;
      const got = await real.recall(name, request);
      return [got.outcome === 'recalled' ? { recalled: got.recalled } : got.outcome, response];
    }
    const [outcome, next] = closeLease(model, epoch);
    model = next;
    return [(await real.close(name, epoch, budgetIds)).outcome, outcome];
  }

  async function readStored(): Promise<Record<string, string>> {
    const words = (await server.client.command(['HGETALL', valkeyLeaseKey(present, name)])) as unknown;
    const flat: unknown[] = Array.isArray(words) ? words : Object.entries(words as object).flat();
    const entries: [string, string][] = [];
    for (let at = 0; at < flat.length; at += 2) entries.push([String(flat[at]), String(flat[at + 1])]);
    return Object.fromEntries(entries);
  }

  return { step, kept: readStored, model: () => model };
}

const of = (hash: Record<string, string>, prefix: string) => ({
  granted: BigInt(hash[`${prefix}granted`] ?? 0),
  recalled: BigInt(hash[`${prefix}recalled`] ?? 0),
  reserved: BigInt(hash[`${prefix}reserved`] ?? 0),
  spent: BigInt(hash[`${prefix}spent`] ?? 0),
});

describe('lease scripts', () => {
  it('match the model in every sequence of steps', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(moves, { minLength: 1, maxLength: 30 }), async (sequence) => {
        const pair = createPair();
        for (const move of sequence) {
          const [real, expected] = await pair.step(move);
          expect(real).toEqual(expected);
        }
        const model = pair.model();
        const hash = await pair.kept();
        expect(hash['epoch'] ?? null).toBe(model?.epoch.toString() ?? null);
        if (model === null) return;
        expect(of(hash, '')).toEqual(model.amounts);
        for (const [id, budget] of model.budgets) expect(of(hash, `${id}:`)).toEqual(budget);
      }),
      { numRuns: 300 },
    );
  });

  it('never admit more than was granted to concurrent gateways', async () => {
    const leases = new ValkeyLeases(server.client, present);
    const name = newOwner();
    await leases.open(name, { leaseId, epoch: 1n, granted: 100n, budgets: none, admitForMs: 60_000 });
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, nth) =>
        leases.reserve(name, {
          epoch: 1n,
          gatewayId: `g${nth % 5}`,
          requestId: requestId(nth),
          ...requestOf(7n),
        }),
      ),
    );
    expect(responses.filter(({ outcome }) => outcome === 'admitted')).toHaveLength(14);
  });

  it('use the time of the server', async () => {
    const leases = new ValkeyLeases(server.client, present);
    const name = newOwner();
    await leases.open(name, { leaseId, epoch: 1n, granted: 100n, budgets: none, admitForMs: 3_000 });
    const request = { epoch: 1n, gatewayId: 'g', ...requestOf(1n) };
    expect(await leases.reserve(name, { ...request, requestId: requestId(1) })).toMatchObject({
      outcome: 'admitted',
    });
    let nth = 1;
    await eventually({ what: 'the lease to run out', intervalMs: 100 }, async () => {
      const { outcome } = await leases.reserve(name, { ...request, requestId: requestId((nth += 1)) });
      return outcome === 'expired';
    });
    await leases.enlarge(name, { leaseId, epoch: 1n, granted: 100n, budgets: none, admitForMs: 60_000 });
    expect(await leases.reserve(name, { ...request, requestId: requestId(0) })).toMatchObject({
      outcome: 'admitted',
    });
  });
});

describe('isLost', () => {
  it('is true for an absent lease and takes nothing from an existing one', async () => {
    const name = newOwner();
    const leases = new ValkeyLeases(server.client, present);
    expect(await leases.isLost(name, 1n)).toBe(true);
    const grant = { leaseId, epoch: 1n, granted: 100n, budgets: none, admitForMs: 60_000 };
    await leases.open(name, grant);
    await leases.reserve(name, { epoch: 1n, gatewayId: 'g1', requestId: requestId(1), ...requestOf(30n) });
    const readRaw = (): Promise<unknown> => server.client.command(['HGETALL', valkeyLeaseKey(present, name)]);
    const fresh = await readRaw();
    expect(await leases.isLost(name, 1n)).toBe(false);
    expect(await readRaw()).toEqual(fresh);
    await leases.recall(name, { epoch: 1n, known: 0n, wanted: 20n });
    const recalled = await readRaw();
    expect(await leases.isLost(name, 1n)).toBe(false);
    expect(await readRaw()).toEqual(recalled);
    expect(await leases.isLost(name, 2n)).toBe(true);
  });
});

describe('ValkeyLeases on another server', () => {
  const name = newOwner();
  const grant = { leaseId, epoch: 1n, granted: 100n, budgets: none, admitForMs: 600_000 };
  const request = { epoch: 1n, gatewayId: 'g', requestId: requestId(1), ...requestOf(1n) };

  /** Attaching the first replica changes the server's replication id, so the server is prepared again afterwards. */
  async function follow(replica: TestValkey): Promise<void> {
    await server.client.command(['SET', 'follow', replica.url]);
    await replica.client.command(['REPLICAOF', '127.0.0.1', String(server.port)]);
    await eventually({ what: 'the first copy' }, async () => {
      return (await replica.client.command(['GET', 'follow'])) === replica.url;
    });
    present = await prepare((generation += 1n));
  }

  it('rejects a restarted server because its scripts are missing', async () => {
    const leases = new ValkeyLeases(server.client, present);
    await leases.open(name, grant);
    await server.client.command(['SAVE']);
    await server.restart();
    expect(await server.client.command(['HGET', valkeyLeaseKey(present, name), 'granted'])).toBe('100');
    expect(await leases.reserve(name, request)).toMatchObject({ outcome: 'foreign' });
    expect(await leases.enlarge(name, { ...grant, granted: 200n })).toEqual({ outcome: 'foreign' });
    expect(await leases.recall(name, { epoch: 1n, known: 0n, wanted: 50n })).toEqual({ outcome: 'foreign' });
    expect(await leases.isLost(name, 1n)).toBe(true);
    expect(await isServerReady(server.client, present)).toBe(false);
  });

  it('rejects a promoted replica because its scripts are missing', async () => {
    await using replica = await startValkeyServer();
    await follow(replica);
    const leases = new ValkeyLeases(server.client, present);
    await leases.open(name, { ...grant, epoch: 5n });
    await eventually({ what: 'the copy of the lease' }, async () => {
      const granted = await replica.client.command(['HGET', valkeyLeaseKey(present, name), 'granted']);
      return granted === '100';
    });
    await expect(readIncarnation(replica.client)).rejects.toThrow('must be a master');
    await replica.client.command(['REPLICAOF', 'NO', 'ONE']);
    const promoted = new ValkeyLeases(replica.client, present);
    expect(await promoted.reserve(name, { ...request, epoch: 5n })).toMatchObject({ outcome: 'foreign' });
    // The original server is still running and spends only its own lease.
    expect(await leases.reserve(name, { ...request, epoch: 5n })).toMatchObject({
      outcome: 'admitted',
      remaining: 99n,
    });
  });

  it('rejects a server with the data of another because its replication id changed', async () => {
    await using stale = await startValkeyServer();
    await follow(stale);
    const leases = new ValkeyLeases(server.client, present);
    await leases.open(name, { ...grant, epoch: 9n });
    await eventually({ what: 'the copy of the lease' }, async () => {
      return (await stale.client.command(['HGET', valkeyLeaseKey(present, name), 'epoch'])) === '9';
    });
    await stale.client.command(['REPLICAOF', 'NO', 'ONE']);
    await leases.reserve(name, { ...request, epoch: 9n, ...requestOf(100n) });
    await server.client.command(['REPLICAOF', '127.0.0.1', String(stale.port)]);
    await eventually({ what: 'the roll-back' }, async () => {
      return (await server.client.command(['HGET', valkeyLeaseKey(present, name), 'reserved'])) === null;
    });
    await server.client.command(['REPLICAOF', 'NO', 'ONE']);
    const digest = leaseScripts(present).reserve.sha1;
    expect(await server.client.command(['SCRIPT', 'EXISTS', digest])).toEqual([1]);
    expect(await leases.reserve(name, { ...request, epoch: 9n, requestId: requestId(2) })).toMatchObject({
      outcome: 'foreign',
    });
    expect(await isServerReady(server.client, present)).toBe(false);
  });

  it('finds no lease on a wiped server, and none is recreated', async () => {
    const leases = new ValkeyLeases(server.client, present);
    await leases.open(name, { ...grant, epoch: 12n });
    await server.client.command(['FLUSHALL']);
    expect(await leases.reserve(name, { ...request, epoch: 12n })).toMatchObject({ outcome: 'gone' });
    expect(await leases.enlarge(name, { ...grant, epoch: 12n })).toEqual({ outcome: 'gone' });
    expect(await server.client.command(['EXISTS', valkeyLeaseKey(present, name)])).toBe(0);
  });
});

describe('server preparation', () => {
  it('removes the old leases of the installation and no other keys', async () => {
    const leases = new ValkeyLeases(server.client, present);
    const name = newOwner();
    await leases.open(name, { leaseId, epoch: 1n, granted: 1n, budgets: none, admitForMs: 1 });
    await server.client.command(['SET', 'limit:other', '1']);
    await deleteOldLeases(server.client, 'ffffffffffff', async () => true);
    await deleteOldLeases(server.client, namespace, async () => false);
    expect(await server.client.command(['EXISTS', valkeyLeaseKey(present, name)])).toBe(1);
    await deleteOldLeases(server.client, namespace, async () => true);
    expect(await server.client.command(['EXISTS', valkeyLeaseKey(present, name)])).toBe(0);
    expect(await server.client.command(['GET', 'limit:other'])).toBe('1');
  });

  it('loads the scripts of one generation only', async () => {
    const next = { ...present, generation: present.generation + 1n };
    expect(await isServerReady(server.client, next)).toBe(false);
    await prepareServer(server.client, next);
    expect(await isServerReady(server.client, next)).toBe(true);
  });

  it('rejects an invalid replication id', () => {
    const sly = { ...present, incarnation: "x') return redis.call('FLUSHALL'" };
    expect(() => leaseScripts(sly)).toThrow('Invalid replication id');
  });
});

it('runLoaded distinguishes an unknown script from other errors', async () => {
  const error: unknown = await server.client
    .runLoaded({ name: 'x', source: '', sha1: '0'.repeat(40) }, { keys: [], args: [] })
    .catch((reason: unknown) => reason);
  expect(isScriptUnknown(error)).toBe(true);
  expect(isScriptUnknown(new Error('ERR'))).toBe(false);
});
