import { createContract, defaultProviders } from '@millrace/contract';
import type { Mode } from '@millrace/platform/envelope';
import type { HttpServer } from '@millrace/platform/http';
import { createIdSource, toUuid, type KeyId } from '@millrace/platform/ids';
import {
  callServer,
  createRouteServer,
  hybridClock,
  principal,
  uniqueId,
  type CallResponse,
} from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serveRentalCreation } from '../index.ts';
import {
  createRentalHarness,
  GPU_HOUR,
  liveRegion,
  testRegion,
  type RentalHarness,
  type Tenant,
} from '../model/rental.fixture.ts';
import { REQUESTS_PER_DAY_MAX } from './reservation-requests.service.ts';

const contract = createContract({ providers: defaultProviders });
const { operations } = contract;
const vms = '/v2/alpha/on-demand/virtual-machine-rentals';

interface Api {
  readonly harness: RentalHarness;
  send(who: Tenant, mode: Mode, request: Request): Promise<CallResponse>;
  close(): Promise<void>;
}

interface Request {
  readonly path: string;
  readonly body?: unknown;
  readonly idempotencyKey?: string;
  readonly keyId?: KeyId;
}

async function startApi(options: Parameters<typeof createRentalHarness>[0] = {}): Promise<Api> {
  const harness = await createRentalHarness({ portListeners: false, poolSize: 16, ...options });
  const callers = new Map<string, ReturnType<typeof principal>>();
  const clock = hybridClock(harness.clock);
  const server: HttpServer = createRouteServer({
    contract,
    authenticate: async ({ key }) => {
      const caller = callers.get(key);
      if (caller === undefined) throw new Error('Unknown API key.');
      return caller;
    },
    db: harness.db,
    clock,
    ids: createIdSource({ clock, cell: 1 }),
  });
  serveRentalCreation({ server, operations, db: harness.db, clock, cell: 1 });
  return {
    harness,
    async send({ orgId, userId, keys }, mode, { path, body, idempotencyKey, keyId = keys[mode] }) {
      const platformRoles = ['operator'] as const;
      const scopes = ['rentals:write', 'catalog:read', 'admin:read'] as const;
      callers.set(keyId, principal({ orgId, userId, keyId, mode, scopes, platformRoles }));
      const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
      const method = body === undefined ? 'GET' : 'POST';
      return callServer(server, { method, path, key: keyId, body, headers });
    },
    close: async () => {
      await server.close();
      await harness.drop();
    },
  };
}

let api: Api;
let harness: RentalHarness;
beforeAll(async () => {
  api = await startApi({ nodes: 2 });
  ({ harness } = api);
});
afterAll(() => api.close());

const order = { gpuCount: 1, region: liveRegion };
const countOf = async (what: string, tenant: Tenant): Promise<number> => {
  const [row] = await harness.rows<{ count: number }>(
    `select count(*)::int as count from ${what} where org_id = '${toUuid(tenant.orgId)}'`,
  );
  return row?.count ?? 0;
};

describe('POST virtual-machine-rentals', () => {
  it.each([vms, '/v2/on-demand/virtual-machine-rentals'])(
    '%s returns a record without unknown fields',
    async (path) => {
      const tenant = await harness.tenant();
      const body = {
        ...order,
        name: 'box',
        label: 'l',
        customPorts: [8080],
        monitoringEnabled: true,
        unknown: 1,
      };
      const { status, json, headers } = await api.send(tenant, 'live', { path, body });
      expect(status).toBe(200);
      expect(headers['x-ignored-fields']).toBe('unknown');
      expect(operations.createVirtualMachineRental.response.schema.parse(json)).toEqual(json);
      expect(json).toMatchObject({
        rentalType: 'virtual-machine',
        rentalId: json['id'],
        orgId: tenant.orgId,
        userId: tenant.userId,
        startedAt: null,
        terminatedAt: null,
        convertToOnDemandOnExpiry: true,
        meta: { monitoring_enabled: true },
        providerData: {
          providerId: 'provider-v8',
          externalId: json['externalId'],
          customPorts: [8080],
          networkType: 'ethernet',
          gpuFormFactor: 'sxm5',
          resources: { gpuCount: 1, vcpuCount: 24, ramGb: 250, storageGb: 3_500 },
        },
      });
    },
  );

  it('creates one rental, hold and response for fifty requests with one Idempotency-Key', async () => {
    const tenant = await harness.tenant();
    const request = { path: vms, body: order, idempotencyKey: uniqueId() };
    const responses = await Promise.all(
      Array.from({ length: 50 }, async () => {
        for (;;) {
          const response = await api.send(tenant, 'live', request);
          // Requests that waited too long for the first one get 503 and retry.
          if (response.status !== 503) return response;
        }
      }),
    );
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(responses.map(({ json }) => json['id'])).size).toBe(1);
    expect(responses.filter(({ headers }) => headers['idempotent-replayed'] === 'true')).toHaveLength(49);
    for (const what of ['rentals', 'allocations', 'ledger_holds'])
      expect(await countOf(what, tenant)).toBe(1);
    expect(await harness.violations()).toEqual([]);
  });

  it('does not replay a rejection: the same key succeeds after a top-up', async () => {
    const tenant = await harness.tenant({ balanceUsd: 0 });
    const request = { path: vms, body: order, idempotencyKey: uniqueId() };
    const refused = await api.send(tenant, 'live', request);
    expect(refused).toMatchObject({
      status: 400,
      json: { reason: 'INSUFFICIENT_BALANCE', code: 'BAD_REQUEST' },
    });
    await harness.topUp(tenant.orgId, 10);
    expect((await api.send(tenant, 'live', request)).status).toBe(200);
    const other = { ...request, body: { ...order, gpuCount: 2 } };
    expect(await api.send(tenant, 'live', other)).toMatchObject({
      status: 400,
      json: { reason: 'IDEMPOTENCY_KEY_REUSED' },
    });
  });

  it('returns the statuses that the interface lists for rejections', async () => {
    const tenant = await harness.tenant();
    const bodies = {
      INSUFFICIENT_CAPACITY: { ...order, gpuCount: 9 },
      REGION_DISABLED: { ...order, region: 'jp-east-1' },
      NETWORK_TYPE_NOT_SUPPORTED: { ...order, networkType: 'infiniband' },
      MAX_USD_EXCEEDED: { ...order, maxUsd: 0.001 },
      RESERVE_OPTION_NOT_FOUND: { ...order, termType: 'reserved', termPeriodDays: 77 },
      SSH_KEY_NOT_FOUND: { ...order, sshKeyIds: ['ssh_01JD8Q7XK4T2M9V6B3N5C1F0GH'] },
      IMAGE_NOT_FOUND: { ...order, image: '//' },
      VALIDATION_FAILED: { ...order, gpuCount: 0 },
    };
    for (const [reason, body] of Object.entries(bodies)) {
      expect(await api.send(tenant, 'live', { path: vms, body })).toMatchObject({
        status: 400,
        json: { reason },
      });
    }
    const claim = await api.send(tenant, 'live', { path: vms, body: { ...order, discountPercentage: 50 } });
    expect(claim).toMatchObject({ status: 403, json: { reason: 'DISCOUNT_NOT_ENTITLED' } });
    expect(await countOf('rentals', tenant)).toBe(0);
  });

  it('does not use up ids for rejected orders', async () => {
    const tenant = await harness.tenant({ balanceUsd: 0 });
    const taken = () =>
      harness.rows(`select block, next_id from id_blocks where kind = 'rental' order by block`);
    const refuse = async (times: number): Promise<void> => {
      for (let count = 0; count < times; count += 1)
        await api.send(tenant, 'live', { path: vms, body: order });
    };
    await refuse(1);
    const before = await taken();
    await refuse(60);
    expect(await taken()).toEqual(before);
  });

  it('limits test keys to the mock region and live keys to the others', async () => {
    const tenant = await harness.tenant({ balanceUsd: 0 });
    expect(await api.send(tenant, 'test', { path: vms, body: order })).toMatchObject({
      status: 400,
      json: { reason: 'REGION_DISABLED' },
    });
    const { status, json } = await api.send(tenant, 'test', {
      path: vms,
      body: { gpuCount: 8, region: testRegion },
    });
    expect({ status, region: json['region'] }).toEqual({ status: 200, region: testRegion });
    expect(json['providerData']).toMatchObject({ providerId: 'mock' });
    expect(await countOf('ledger_holds', tenant)).toBe(0);
  });
});

/** All variants are tested in `rentals.wire.test.ts`; these two differ most from the one used above. */
describe('other provider variants', () => {
  it.each(['V3', 'private-cloud'] as const)(
    '%s: the created rental matches the contract',
    async (variant) => {
      const own = await startApi({ variant });
      try {
        const tenant = await own.harness.tenant();
        const { status, json } = await own.send(tenant, 'live', { path: vms, body: order });
        expect(status).toBe(200);
        expect(operations.createVirtualMachineRental.response.schema.parse(json)).toEqual(json);
      } finally {
        await own.close();
      }
    },
  );
});

describe('POST quote', () => {
  const path = '/v2/on-demand/quote';
  const request = { rentalType: 'virtual-machine', gpuCount: 2, region: liveRegion };

  it('returns the amount that create then holds, to the nano-USD', async () => {
    const tenant = await harness.tenant();
    const { json: quote } = await api.send(tenant, 'live', { path, body: request });
    expect(quote).toMatchObject({
      available: true,
      affordable: true,
      costPerHourNanoUsd: String(2n * GPU_HOUR),
      term: null,
    });
    await api.send(tenant, 'live', { path: vms, body: { ...order, gpuCount: 2 } });
    expect(String((await harness.balance(tenant.orgId)).held)).toBe(quote['holdNanoUsd']);
  });

  it('returns the disk price after a release, only for releasable rentals', async () => {
    const tenant = await harness.tenant();
    const { json: quote } = await api.send(tenant, 'live', { path, body: request });
    await api.send(tenant, 'live', { path: vms, body: { ...order, gpuCount: 2 } });
    const [row] = await harness.rows<{ disk_price: { quantity: number; rateNanoUsdPerHour: string } }>(
      `select disk_price from rentals where org_id = '${toUuid(tenant.orgId)}'`,
    );
    expect(quote['released']).toEqual({
      diskGb: row?.disk_price.quantity,
      costPerHourNanoUsd: row?.disk_price.rateNanoUsdPerHour,
    });
    expect(quote['released']).toMatchObject({ costPerHourNanoUsd: expect.stringMatching(/^[1-9]/) });
    await harness.offerTerm(7);
    const cases = [
      { ...request, gpuCount: 1, termType: 'reserved', termPeriodDays: 7 },
      { ...request, rentalType: 'bare-metal', gpuCount: 8 },
      { ...request, region: 'jp-east-1' },
    ];
    for (const body of cases) {
      const { json } = await api.send(tenant, 'live', { path, body });
      expect({ body, released: json['released'] }).toEqual({ body, released: null });
    }
  });

  it('is available exactly if create succeeds', async () => {
    const tenant = await harness.tenant({ balanceUsd: 100_000 });
    const cases = [
      { ...request, gpuCount: 8 },
      { ...request, gpuCount: 9 },
      { ...request, networkType: 'infiniband' },
      { ...request, region: 'jp-east-1' },
      { ...request, region: testRegion },
      { ...request, gpuType: 'b200', gpuCount: 8 },
    ];
    for (const { rentalType, ...rest } of cases) {
      const { json } = await api.send(tenant, 'live', { path, body: { rentalType, ...rest } });
      const { status } = await api.send(tenant, 'live', { path: vms, body: rest });
      expect({ rest, available: json['available'] }).toEqual({ rest, available: status === 200 });
    }
  });

  it('reports idle rules as accepted exactly if create accepts one', async () => {
    const tenant = await harness.tenant({ balanceUsd: 100_000 });
    const idle = { afterSeconds: 300, action: 'stop' };
    // Live machines here use Incus, which does not report GPU utilisation; machines in test mode report it.
    const cases = [
      { mode: 'live', region: liveRegion },
      { mode: 'test', region: testRegion },
    ] as const;
    for (const { mode, region } of cases) {
      const rest = { gpuCount: 1, region };
      const { json } = await api.send(tenant, mode, { path, body: { ...request, ...rest } });
      const { status } = await api.send(tenant, mode, { path: vms, body: { ...order, ...rest, idle } });
      expect({ mode, idleRules: json['idleRules'] }).toEqual({ mode, idleRules: status === 200 });
    }
    const metal = { ...request, rentalType: 'bare-metal', gpuCount: 8 };
    expect((await api.send(tenant, 'live', { path, body: metal })).json['idleRules']).toBe(false);
  });

  it('reports an insufficient balance and the commitment of a term', async () => {
    await harness.offerTerm(7);
    const tenant = await harness.tenant({ balanceUsd: 1 });
    const body = { ...request, gpuCount: 1, termType: 'reserved', termPeriodDays: 7 };
    const { json } = await api.send(tenant, 'live', { path, body });
    const rate = (GPU_HOUR * 8n + 9n) / 10n;
    expect(json).toMatchObject({
      affordable: false,
      holdNanoUsd: String(rate * 24n * 7n),
      term: {
        termPeriodDays: 7,
        committedNanoUsd: String(rate * 24n * 7n),
        earlyTerminationRefundPercentage: 50,
      },
    });
  });
});

describe('POST request-reservation', () => {
  const path = '/v2/alpha/on-demand/request-reservation';

  it('stores the request for operators and emits an event; test requests are not listed', async () => {
    const tenant = await harness.tenant();
    const response = await api.send(tenant, 'live', { path, body: { gpuCount: 4_096 } });
    expect(response).toMatchObject({
      status: 200,
      json: { message: 'Reservation request for 4096 GPUs received' },
    });
    await api.send(tenant, 'test', { path, body: { gpuCount: 1 } });
    const listed = await api.send(tenant, 'live', { path: '/v2/admin/reservation-requests?limit=1' });
    expect(listed.json['items']).toMatchObject([
      { organisationId: tenant.orgId, requestedBy: tenant.userId, gpuCount: 4_096 },
    ]);
    const [event] = await harness.rows(
      `select payload from outbox where org_id = '${toUuid(tenant.orgId)}' and type = 'reservation.requested' and mode = 'live'`,
    );
    expect(event).toMatchObject({ payload: { gpuCount: 4_096, requestedBy: tenant.userId } });
  });

  it('stores one request per Idempotency-Key, and limits requests per day', async () => {
    const tenant = await harness.tenant();
    const request = { path, body: { gpuCount: 64 }, idempotencyKey: uniqueId() };
    const responses = await Promise.all(Array.from({ length: 5 }, () => api.send(tenant, 'live', request)));
    expect(responses.every(({ status }) => status === 200)).toBe(true);
    expect(await countOf('reservation_requests', tenant)).toBe(1);
    for (let count = 1; count < REQUESTS_PER_DAY_MAX; count += 1)
      await api.send(tenant, 'live', { path, body: { gpuCount: 1 } });
    const tooMany = await api.send(tenant, 'live', { path, body: { gpuCount: 1 } });
    expect(tooMany).toMatchObject({ status: 403, json: { reason: 'QUOTA_EXCEEDED' } });
    expect(await countOf('reservation_requests', tenant)).toBe(REQUESTS_PER_DAY_MAX);
  });

  it('accepts every safe integer', async () => {
    const tenant = await harness.tenant();
    const body = { gpuCount: Number.MAX_SAFE_INTEGER };
    expect((await api.send(tenant, 'live', { path, body })).status).toBe(200);
    const listed = await api.send(tenant, 'live', { path: '/v2/admin/reservation-requests?limit=1' });
    expect(listed.json['items']).toMatchObject([{ gpuCount: Number.MAX_SAFE_INTEGER }]);
  });
});
