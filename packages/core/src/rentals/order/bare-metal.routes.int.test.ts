import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { reconcileUntil } from '../reconcile/reconcile.fixture.ts';
import { startRentalQueryApi } from '../read/rental-queries.fixture.ts';
import { GPU_HOUR, liveRegion, type Tenant } from '../model/rental.fixture.ts';
import { findRentalByWireId } from '../model/rentals.store.ts';

const path = '/v2/alpha/on-demand/bare-metal-rentals';
const order = { gpuCount: 8, networkType: 'infiniband' };

let tenant: Tenant;
const api = await startRentalQueryApi({ portListeners: true, metalFabrics: 6 });
const { harness } = api;
afterAll(() => api.close());
beforeEach(async () => {
  tenant = await harness.tenant({ balanceUsd: 10_000 });
  await harness.watch();
});

const post = (to: string, body: object, who = tenant) =>
  api.send(who, 'live', { path: to, method: 'POST', body });
const get = (from: string, who = tenant) => api.send(who, 'live', { path: from });

const running = async (body: object = order): Promise<number> => {
  const { json } = await post(path, body);
  const rental = await findRentalByWireId(harness.db, tenant.orgId, 'live', json.id);
  if (rental === null) expect.fail('The rental does not exist.');
  await reconcileUntil(harness, rental, { until: 'Running' });
  return rental.wireId;
};

describe('POST bare-metal-rentals', () => {
  it.each([path, '/v2/on-demand/bare-metal-rentals'])(
    '%s returns a record without unknown fields',
    async (at) => {
      const body = {
        ...order,
        gpuCount: 16,
        label: 'l',
        name: 'pair',
        monitoringEnabled: true,
        cudaVersion: 'cuda12.8',
      };
      const { status, json } = await post(at, body);
      expect(status).toBe(200);
      expect(api.operations.createBareMetalRental.response.schema.parse(json)).toEqual(json);
      expect(json).toMatchObject({
        rentalType: 'bare-metal',
        rentalId: json.id,
        region: liveRegion,
        gpuType: 'h100',
        gpuCount: 16,
        name: 'pair',
        startedAt: null,
        convertToOnDemandOnExpiry: true,
        meta: { monitoring_enabled: true, rental_type: 'bare-metal', attached_storage: [] },
        providerData: { networkType: 'infiniband', resources: { gpuCount: 16, cpuCount: 384 } },
      });
    },
  );

  it('returns the statuses that the interface lists for rejections, and leaves nothing', async () => {
    const bodies = {
      VALIDATION_FAILED: { ...order, gpuCount: 12 },
      NETWORK_TYPE_NOT_SUPPORTED: { ...order, networkType: 'ethernet' },
      REGION_DISABLED: { ...order, region: 'eu-west-4' },
      INSUFFICIENT_CAPACITY: { ...order, gpuCount: 40 },
      RESERVE_OPTION_NOT_FOUND: { ...order, termType: 'reserved', termPeriodDays: 77 },
      VOLUME_NOT_FOUND: { ...order, storageVolume: { isNew: false, id: 2_147_483_646 } },
    };
    for (const [reason, body] of Object.entries(bodies)) {
      expect(await post(path, body)).toMatchObject({ status: 400, json: { reason } });
    }
    const testKey = await api.send(tenant, 'test', { path, method: 'POST', body: order });
    expect(testKey).toMatchObject({ status: 400, json: { reason: 'REGION_DISABLED' } });
    expect((await get(path)).json).toEqual([]);
    expect((await harness.balance(tenant.orgId)).held).toBe(0n);
  });

  it('holds the quoted amount, and is quoted as available exactly if create succeeds', async () => {
    const request = { rentalType: 'bare-metal', networkType: 'infiniband', region: liveRegion };
    const { json: quoted } = await post('/v2/on-demand/quote', { ...request, gpuCount: 16 });
    expect(quoted).toMatchObject({ available: true, costPerHourNanoUsd: String(16n * GPU_HOUR) });
    await post(path, { ...order, gpuCount: 16 });
    expect(String((await harness.balance(tenant.orgId)).held)).toBe(quoted.holdNanoUsd);
    for (const fields of [
      { gpuCount: 32 },
      { gpuCount: 40 },
      { gpuCount: 12 },
      { gpuCount: 8, networkType: 'ethernet' },
      { gpuCount: 8, cudaVersion: 'cuda12.9' },
      { gpuCount: 8, gpuType: 'b200' },
    ]) {
      const { json } = await post('/v2/on-demand/quote', { ...request, ...fields });
      const { status } = await post(path, { ...order, ...fields });
      expect({ fields, available: json.available }).toEqual({ fields, available: status === 200 });
    }
  });
});

describe('GET bare-metal-rentals', () => {
  it('returns the active bare-metal rentals of the caller only', async () => {
    const id = await running({ ...order, gpuCount: 16 });
    await harness.rent(tenant, 'live');
    const outsider = await harness.tenant();
    const { status, json } = await get(path);
    expect(status).toBe(200);
    expect(api.operations.listBareMetalRentals.response.schema.parse(json)).toEqual(json);
    expect(json).toMatchObject([
      {
        id,
        rentalType: 'bare-metal',
        status: 'Running',
        currentTerm: { termType: 'on-demand', reservedUntil: null, termPeriodDays: null },
        gpuFormFactor: 'sxm5',
        nodes: [
          { gpuCount: 8, cpuCount: 192 },
          { gpuCount: 8, cpuCount: 192 },
        ],
        connectionType: 'infiniband',
        createdBy: { id: tenant.userId },
        supportsFeature: { attachedStorage: true },
        attachedStorage: [],
      },
    ]);
    expect((await get(path, outsider)).json).toEqual([]);
    expect((await api.send(tenant, 'test', { path })).json).toEqual([]);
  });

  it('returns all rentals without a limit, and pages with Link headers with a limit', async () => {
    const inserted = await api.insertRentals(tenant, { live: 430, kind: 'bare-metal' });
    const ids = inserted.map(({ wireId }) => wireId).toReversed();
    const all = await get(path);
    expect(all.json.map(({ id }: { id: number }) => id)).toEqual(ids);
    expect(all.link).toBeUndefined();
    const paged: number[] = [];
    for (let next: string | undefined = `${path}?limit=200`; next !== undefined;) {
      const { json, link } = await get(next);
      paged.push(...json.map(({ id }: { id: number }) => id));
      next = /^<([^>]+)>; rel="next"$/u.exec(String(link))?.[1];
    }
    expect(paged).toEqual(ids);
    expect(await get(`${path}?cursor=bm9wZQ`)).toMatchObject({
      status: 400,
      json: { reason: 'INVALID_CURSOR' },
    });
  });
});

describe('POST bare-metal-rentals/terminate', () => {
  it('terminates only bare metal, and repeats the receipt', async () => {
    const id = await running();
    await harness.advance(60_000);
    const notFound = await post('/v2/on-demand/virtual-machine-rentals/terminate', { rentalId: id });
    expect(notFound).toMatchObject({ status: 404, json: { reason: 'RENTAL_NOT_FOUND' } });
    const first = await post(`${path}/terminate`, { rentalId: id, reason: 'done' });
    expect(first).toMatchObject({ status: 200, json: { rentalId: id, status: 'Terminating' } });
    expect(first.json.finalCost.nanoUsd).toBe(String((8n * GPU_HOUR) / 60n));
    await harness.advance(60_000);
    const second = await post(`${path}/terminate`, { rentalId: id });
    expect(second.json).toMatchObject({
      finalCost: first.json.finalCost,
      billingStoppedAt: first.json.billingStoppedAt,
    });
  });

  it('returns 404 for rentals of other organisations and unknown ids', async () => {
    const id = await running();
    const outsider = await harness.tenant();
    const foreign = await post(`${path}/terminate`, { rentalId: id }, outsider);
    const absent = await post(`${path}/terminate`, { rentalId: -1 }, outsider);
    for (const response of [foreign, absent]) {
      expect(response).toMatchObject({ status: 404, json: { reason: 'RENTAL_NOT_FOUND' } });
    }
  });
});

describe('power of bare metal', () => {
  it('cannot be released with its GPUs, because they include the disk', async () => {
    const id = await running();
    const own = `/v2/on-demand/rentals/${id}`;
    expect(await post(`${own}/stop`, { release: true })).toMatchObject({
      status: 400,
      json: { reason: 'RELEASE_NOT_SUPPORTED' },
    });
    expect(await post(`${own}/stop`, {})).toMatchObject({
      status: 202,
      json: { power: 'changing', gpuHeld: true },
    });
  });
});
