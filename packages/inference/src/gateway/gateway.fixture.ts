import { createHash, randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { createContract, defaultProviders, operationsOf } from '@millrace/contract';
import { mintKey } from '@millrace/core/identity';
import type { KeyEntry, ModelEntry, UsageEvent } from '@millrace/core/inference';
import type {
  InsufficientFunds,
  CreditLeaseClient,
  ReserveRejection,
  ReserveRequest,
  Reservation,
} from '@millrace/credit-leases/client';
import { systemClock } from '@millrace/platform/clock';
import { createMisroutedFinder } from '@millrace/platform/http/misrouted';
import type { LeaseId } from '@millrace/platform/ids';
import type { Limiter, PolicyState, RateDecision, RateRequest } from '@millrace/platform/limiter';
import { createLogger } from '@millrace/platform/log';
import { testIds } from '@millrace/testing';
import type { KeyFeed } from '../key-feed/index.ts';
import { createRouter } from '../routing/index.ts';
import type { UsageReporter } from '../usage/index.ts';
import { createGateway, type Gateway, type GatewayOptions } from './gateway.ts';

/**
 * A gateway with real server, router and adapters. Key feed, credit leases and usage stream are doubles that tests can inspect.
 */
export interface GatewayHarness {
  readonly url: string;
  readonly gateway: Gateway;
  readonly key: string;
  readonly testKey: string;
  /** A key of another organisation. */
  readonly otherKey: string;
  /** Creates a new organisation with one key. */
  newKey(fields: { readonly mode: 'live' | 'test'; readonly isFunded: boolean }): string;
  readonly leases: FakeLeaseClient;
  readonly usage: FakeUsageReporter;
  readonly feed: { isStale: boolean; readonly keys: Map<string, KeyEntry>; readonly suspended: Set<string> };
  /** Limits per organisation and address for requests that cost no money. */
  readonly limits: { perMinute: number; answersAfter: Promise<void> | null };
  post(
    path: string,
    body: unknown,
    options?: { readonly key?: string; readonly signal?: AbortSignal },
  ): Promise<Response>;
  /** Waits until no request runs; fails after two minutes. */
  settled(): Promise<void>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface FakeLeaseClient {
  refuseWith: ReserveRejection['refused'] | null;
  funds: InsufficientFunds | null;
  /** Upper limit for reservations that can be reduced. */
  affordable: bigint | null;
  /** Delays the response of `reserve`. */
  answersAfter: Promise<void> | null;
  readonly reserved: ReserveRequest[];
  readonly settled: { readonly requestId: string; readonly actual: bigint }[];
}

export interface FakeUsageReporter {
  isFull: boolean;
  readonly finals: UsageEvent[];
  readonly checkpoints: UsageEvent[];
}

export const PRICE = { prompt: 1_000_000_000n, cached: 500_000_000n, completion: 2_000_000_000n } as const;

export function modelFixture(fields: Partial<ModelEntry> & Pick<ModelEntry, 'deployments'>): ModelEntry {
  const name = fields.name ?? 'acme/chat';
  const price = {
    version: 1,
    model: name,
    promptNanoUsdPerMillion: String(PRICE.prompt),
    cachedPromptNanoUsdPerMillion: String(PRICE.cached),
    completionNanoUsdPerMillion: String(PRICE.completion),
    imageNanoUsd: '10000000',
    characterNanoUsd: '5000',
    priceIds: ['prc_fixture'],
  } as const;
  return {
    version: 1,
    name,
    aliases: [],
    modality: 'chat',
    inputModalities: ['text'],
    contextLength: 4_096,
    maxOutputTokens: 1_024,
    ownedBy: 'acme',
    createdAtMs: 1_700_000_000_000,
    mode: 'live',
    visibleTo: null,
    fallbacks: [],
    requestsPerMinute: null,
    prices: [{ fromMs: null, untilMs: null, price }],
    contractPrices: {},
    ...fields,
  };
}

export function deploymentFixture(
  fields: Partial<ModelEntry['deployments'][number]> & Pick<ModelEntry['deployments'][number], 'address'>,
): ModelEntry['deployments'][number] {
  return {
    id: testIds.next('dep'),
    engine: 'vllm',
    upstreamModel: 'served',
    apiKey: null,
    region: 'eu-west-1',
    weight: 100,
    maxConcurrency: null,
    ...fields,
  };
}

const unlimited: RateDecision = { allowed: true, degraded: false, policies: [], refusedBy: null };

/** Counts without a window, which is enough for tests of refusals. */
function createFakeLimiter(limits: GatewayHarness['limits']): Limiter {
  const counts = new Map<string, number>();
  const look = (request: RateRequest, { keep }: { keep: boolean }): RateDecision => {
    const states = request.policies.map((policy): PolicyState => {
      const most = Math.min(policy.limit, limits.perMinute);
      const used = (counts.get(policy.subject) ?? 0) + 1;
      if (keep && used <= most) counts.set(policy.subject, used);
      const remaining = Math.max(0, most - used);
      return {
        policy,
        limit: policy.limit,
        remaining,
        resetMs: 1_000,
        retryAfterMs: used <= most ? 0 : 1_000,
      };
    });
    const refusedBy = states.find(({ retryAfterMs }) => retryAfterMs > 0) ?? null;
    return { allowed: refusedBy === null, degraded: false, policies: states, refusedBy };
  };
  return {
    consume: async (request) => {
      await limits.answersAfter;
      return look(request, { keep: true });
    },
    peek: async (request) => look(request, { keep: false }),
  };
}

function createFakeLeaseClient(): FakeLeaseClient &
  Pick<CreditLeaseClient, 'reserve' | 'settle' | 'maintain' | 'close'> {
  const double: FakeLeaseClient = {
    refuseWith: null,
    funds: null,
    affordable: null,
    answersAfter: null,
    reserved: [],
    settled: [],
  };
  return Object.assign(double, {
    async reserve(request: ReserveRequest): Promise<Reservation | ReserveRejection> {
      if (double.refuseWith !== null) {
        const why = double.funds === null ? {} : { funds: double.funds };
        return { refused: double.refuseWith, rate: unlimited, ...why };
      }
      double.reserved.push(request);
      await double.answersAfter;
      const most = double.affordable ?? request.amount;
      return {
        orgId: request.orgId,
        mode: request.mode,
        requestId: request.requestId,
        amount: request.mode === 'test' ? 0n : most < request.amount ? most : request.amount,
        budgets: request.budgets,
        limits: request.limits,
        tokens: request.tokens,
        leaseId: request.mode === 'test' ? null : ('lse_fixture' as LeaseId),
        epoch: 1n,
        gatewayId: 'gateway-fixture',
        reservedAtMs: 0,
        rate: unlimited,
      };
    },
    async settle(reservation: Reservation, actual: bigint) {
      double.settled.push({ requestId: reservation.requestId, actual });
    },
    async maintain() {},
    async close() {},
  });
}

function createFakeUsageReporter(): FakeUsageReporter & { readonly reporter: UsageReporter } {
  const double: FakeUsageReporter = { isFull: false, finals: [], checkpoints: [] };
  const reporter: UsageReporter = {
    isFull: () => double.isFull,
    report(event, stored) {
      double.finals.push(event);
      queueMicrotask(stored);
    },
    checkpoint: (event) => void double.checkpoints.push(event),
    close: async () => undefined,
  };
  return Object.assign(double, { reporter });
}

function mint(mode: 'live' | 'test', keys: Map<string, KeyEntry>, orgId: string): string {
  const minted = mintKey(mode, (count) => randomBytes(count));
  keys.set(minted.publicId, {
    version: 1,
    keyId: testIds.next('key'),
    orgId,
    mode,
    secretSha256: createHash('sha256').update(minted.secret).digest('hex'),
    scopes: ['inference:write', 'inference:read'],
    refusedFor: null,
    expiresAtMs: null,
    allowedIps: [],
    requestsPerMinute: null,
    tokensPerMinute: null,
    models: null,
    budgetIds: [],
  });
  return minted.text;
}

export interface GatewayHarnessOptions {
  readonly failedAuthRpm?: number;
  readonly consoleOrigins?: readonly string[];
  readonly models: readonly ModelEntry[];
  readonly limits?: GatewayOptions['limits'];
  readonly slots?: GatewayOptions['slots'];
  readonly upstreams?: GatewayOptions['upstreams'];
}

export async function createGatewayHarness(options: GatewayHarnessOptions): Promise<GatewayHarness> {
  const log = createLogger({ name: 'gateway-test', level: 'silent' });
  const keys = new Map<string, KeyEntry>();
  const orgId = testIds.next('org');
  const key = mint('live', keys, orgId);
  const testKey = mint('test', keys, orgId);
  const otherKey = mint('live', keys, testIds.next('org'));
  const unfunded = new Set<string>();
  const state = { isStale: false, keys, suspended: new Set<string>() };
  const seen = options.models;
  const keyFeed: KeyFeed = {
    findKey: (publicId) => keys.get(publicId) ?? null,
    knowsKey: () => true,
    organisation: (id) => ({
      version: 1,
      orgId: id,
      isSuspended: state.suspended.has(id),
      isFunded: !unfunded.has(id),
      requestsPerMinute: 1_000_000,
    }),
    model: (name, _orgId, mode) =>
      seen.find((model) => model.mode === mode && (model.name === name || model.aliases.includes(name))) ??
      null,
    models: (_orgId, mode) => seen.filter((model) => model.mode === mode),
    isStale: () => state.isStale,
    onChange: () => () => undefined,
    close: async () => undefined,
  };
  const leases = createFakeLeaseClient();
  const usage = createFakeUsageReporter();
  const limits: GatewayHarness['limits'] = { perMinute: Infinity, answersAfter: null };
  const limiter = createFakeLimiter(limits);
  const router = createRouter({ clock: systemClock, log, gatewayId: 'fixture' });
  const contract = createContract({ providers: defaultProviders, widePenalties: false });
  const gateway = createGateway({
    clock: systemClock,
    ids: testIds,
    log,
    keyFeed,
    leaseClient: leases,
    router,
    reporter: usage.reporter,
    limiter,
    failedAuthRpm: options.failedAuthRpm ?? 1_000_000,
    trustedProxies: [],
    consoleOrigins: options.consoleOrigins ?? [],
    schemas: contract.schemas,
    misrouted: createMisroutedFinder({
      operations: operationsOf(contract),
      process: 'gateway',
      otherUrl: 'https://cloud.example.com',
    }),
    slots: options.slots ?? null,
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    ...(options.upstreams === undefined ? {} : { upstreams: options.upstreams }),
  });
  await new Promise<void>((resolve) => gateway.server.listen({ host: '127.0.0.1', port: 0 }, resolve));
  const url = `http://127.0.0.1:${(gateway.server.address() as AddressInfo).port}`;
  const close = async (): Promise<void> => {
    router.close();
    await gateway.close();
    await new Promise<void>((resolve) => gateway.server.close(() => resolve()));
  };
  return {
    url,
    gateway,
    key,
    testKey,
    otherKey,
    newKey({ mode, isFunded }) {
      const newOrgId = testIds.next('org');
      if (!isFunded) unfunded.add(newOrgId);
      return mint(mode, keys, newOrgId);
    },
    leases,
    usage,
    feed: state,
    limits,
    post: (path, body, { key: with_ = key, signal } = {}) =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${with_}`, 'content-type': 'application/json' },
        body: typeof body === 'string' ? body : JSON.stringify(body),
        ...(signal === undefined ? {} : { signal }),
      }),
    async settled() {
      const untilMs = systemClock.monotonicMs() + 120_000;
      while (gateway.inFlight() > 0) {
        if (systemClock.monotonicMs() > untilMs) throw new Error('Requests are still running.');
        await systemClock.sleep(2);
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
