import { insertFleet, uniqueId } from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { servePrices } from '../../prices/index.ts';
import {
  seedOrganisation,
  startRoutes,
  type RoutesFixture,
  type SeededOrganisation,
} from '../../routes.fixture.ts';
import { serveOffers } from '../index.ts';

let fixture: RoutesFixture;
let operator: SeededOrganisation;
let own: SeededOrganisation;
let theirs: SeededOrganisation;
let testKey: string;

beforeAll(async () => {
  fixture = await startRoutes((deps) => {
    serveOffers(deps);
    servePrices(deps);
  });
  operator = await seedOrganisation(fixture.db, { platformRole: 'operator' });
  own = await seedOrganisation(fixture.db);
  theirs = await seedOrganisation(fixture.db);
  testKey = (await own.ownerKey('test')).key;
  const { db } = fixture;
  await insertFleet(db, { nodes: 2 });
  await insertFleet(db, { nodes: 3, offer: 'bare-metal', connectionType: 'infiniband', fabricSize: 2 });
  await insertFleet(db, { nodes: 1, region: 'eu-west-1', gpuType: 'h200' });
  await insertFleet(db, { nodes: 1, region: 'jp-east-1', gpuType: 'b200' });
  await insertFleet(db, { nodes: 1, offer: 'marketplace', gpuType: 'h200' });
  await insertFleet(db, { nodes: 1, mode: 'test' });
  for (const machineType of ['virtual-machine', 'bare-metal']) {
    await price({ gpuType: 'h100', machineType }, '2000000001');
  }
  await price({ gpuType: 'h200', machineType: 'virtual-machine' }, '3000000000');
  await price({ gpuType: 'h100', machineType: 'virtual-machine' }, '1500000000', theirs);
  await reserveOption({ gpuType: 'h100', region: null, termPeriodDays: 30, discountPercentage: 20 });
  await reserveOption({
    gpuType: 'h100',
    region: 'us-central-1',
    termPeriodDays: 30,
    discountPercentage: 50,
  });
  await reserveOption({ gpuType: 'h200', region: null, termPeriodDays: 90, discountPercentage: 25 });
  await reserveOption({ gpuType: 'b200', region: null, termPeriodDays: 90, discountPercentage: 25 });
});
afterAll(() => fixture[Symbol.asyncDispose]());

const onDemand = '/v2/alpha/on-demand';
const get = (path: string, key = own.owner.key) =>
  fixture.call({ method: 'GET', path: `${onDemand}/${path}`, key });
const explain = (body: object, key = own.owner.key) =>
  fixture.call({ method: 'POST', path: `${onDemand}/placement/explain`, key, body });

async function asOperator(path: string, body: object): Promise<void> {
  const { status, text } = await fixture.call({
    method: 'POST',
    path: `/v2/admin/${path}`,
    key: operator.owner.key,
    body,
    headers: { 'idempotency-key': uniqueId() },
  });
  if (status !== 201) throw new Error(`${path} was refused: ${text}`);
}

const price = (subject: object, priceNanoUsd: string, contractOf?: SeededOrganisation) =>
  asOperator('prices', {
    subject: { kind: 'gpu', region: null, ...subject },
    unit: 'gpu_hour',
    priceNanoUsd,
    validFrom: '2026-01-01T00:00:00Z',
    reason: 'because of a test',
    ...(contractOf === undefined ? {} : { organisationId: contractOf.organisation.id }),
  });
const reserveOption = (fields: object) =>
  asOperator('reserve-options', {
    machineType: 'virtual-machine',
    earlyTerminationRefundPercentage: 50,
    ...fields,
  });

describe('GET rental-options', () => {
  it('shows each size with price, share of a node and availability, on both paths', async () => {
    const { status, json } = await get('rental-options?region=us-central-1&machineType=virtual-machine');
    expect(status).toBe(200);
    expect(json.nextCursor).toBeNull();
    expect(json.items.map((item: { gpuCount: number }) => item.gpuCount)).toEqual([1, 2, 4, 8]);
    expect(json.items[0]).toEqual({
      gpuType: 'h100',
      gpuCount: 1,
      region: 'us-central-1',
      machineType: 'virtual-machine',
      gpuFormFactor: 'sxm5',
      connectionType: 'ethernet',
      costPerHour: 2.000000001,
      costPerHourCents: 201,
      pricePerHourNanoUsd: '2000000001',
      totalAvailable: 16,
      enabled: true,
      nodes: [{ cpuModel: 'AMD EPYC 9654', vcpuCount: 24, ramGb: 256, storageGb: 3750, gpuCount: 1 }],
    });
    const stable = await fixture.call({
      method: 'GET',
      path: '/v2/on-demand/rental-options?region=us-central-1&machineType=virtual-machine',
      key: own.owner.key,
    });
    expect(stable.json).toEqual(json);
  });

  it('shows bare metal as whole nodes of one fabric', async () => {
    const { json } = await get('rental-options?machineType=bare-metal');
    expect(
      json.items.map((item: { gpuCount: number; totalAvailable: number; nodes: unknown[] }) => [
        item.gpuCount,
        item.totalAvailable,
        item.nodes.length,
      ]),
    ).toEqual([
      [8, 3, 1],
      [16, 1, 2],
    ]);
  });

  it('shows test keys the price of live mode beside the free one', async () => {
    const { json } = await get('rental-options', testKey);
    expect(json.items[1]).toMatchObject({
      region: 'mock-region',
      gpuCount: 2,
      pricePerHourNanoUsd: '0',
      livePricePerHourNanoUsd: '4000000002',
    });
    expect((await get('rental-options')).json.items[0]).not.toHaveProperty('livePricePerHourNanoUsd');
  });

  it('shows each organisation its own price, and nothing without a price', async () => {
    const cost = async (key: string) =>
      (await get('rental-options?gpuType=h100&machineType=virtual-machine', key)).json.items[0].costPerHour;
    expect(await cost(own.owner.key)).toBe(2.000000001);
    expect(await cost(theirs.owner.key)).toBe(1.5);
    expect((await get('rental-options?gpuType=b200')).json.items).toEqual([]);
    const { json } = await explain({
      rentalType: 'virtual-machine',
      gpuCount: 1,
      gpuType: 'b200',
      region: 'jp-east-1',
    });
    expect(json).toMatchObject({ placeable: true, costPerHour: null });
  });

  it('shows test keys the free mock region, and live keys all other regions', async () => {
    const regionsOf = async (key: string) =>
      new Set((await get('rental-options', key)).json.items.map((item: { region: string }) => item.region));
    expect(await regionsOf(testKey)).toEqual(new Set(['mock-region']));
    expect(await regionsOf(own.owner.key)).toEqual(new Set(['us-central-1', 'eu-west-1']));
    const [first] = (await get('rental-options', testKey)).json.items;
    expect(first).toMatchObject({ costPerHour: 0, costPerHourCents: 0, totalAvailable: 8 });
  });

  it('returns the same items on pages of any size', async () => {
    const all = (await get('rental-options')).json.items;
    const seen: unknown[] = [];
    let cursor = '';
    do {
      const { json } = await get(`rental-options?limit=3${cursor}`);
      seen.push(...json.items);
      cursor = json.nextCursor === null ? '' : `&cursor=${json.nextCursor}`;
    } while (cursor !== '');
    expect(seen).toEqual(all);
    expect(all.length).toBeGreaterThan(6);
  });

  it.each([
    ['cursor=rubbish', 'INVALID_CURSOR'],
    [`cursor=${Buffer.from('{"id":"rso_1"}').toString('base64url')}`, 'INVALID_CURSOR'],
    ['region=atlantis', 'VALIDATION_FAILED'],
    ['gpuType=h100%00', 'VALIDATION_FAILED'],
    ['limit=0', 'VALIDATION_FAILED'],
    ['machineType=marketplace', 'VALIDATION_FAILED'],
  ])('refuses %s', async (query, reason) => {
    const { status, json } = await get(`rental-options?${query}`);
    expect([status, json.reason]).toEqual([400, reason]);
  });
});

describe('GET reserve-options', () => {
  it('shows the options that apply to pools with a price, newest first, with discounted prices', async () => {
    const { status, json } = await get('reserve-options');
    expect(status).toBe(200);
    expect(
      json.items.map((item: Record<string, unknown>) => [
        item['gpuType'],
        item['region'],
        item['termPeriodDays'],
        item['originalCostPerHour'],
        item['costPerHour'],
        item['enabled'],
      ]),
    ).toEqual([
      ['h200', null, 90, 3, 2.25, true],
      ['h100', 'us-central-1', 30, 2.000000001, 1.000000001, true],
    ]);
    expect(json.items[0]).toMatchObject({ discountPercentage: 25, earlyTerminationRefundPercentage: 50 });
  });

  it('can be filtered, and pages continue after the cursor', async () => {
    expect((await get('reserve-options?region=us-central-1')).json.items).toHaveLength(1);
    const first = (await get('reserve-options?limit=1')).json;
    const second = (await get(`reserve-options?limit=1&cursor=${first.nextCursor}`)).json;
    expect([first.items[0].gpuType, second.items[0].gpuType, second.nextCursor]).toEqual([
      'h200',
      'h100',
      null,
    ]);
  });
});

describe('POST placement/explain', () => {
  it('reports a placeable request without allocating anything', async () => {
    const request = { rentalType: 'virtual-machine', gpuCount: 8 };
    for (let round = 0; round < 3; round += 1) {
      expect((await explain(request)).json).toEqual({
        placeable: true,
        nodesConsidered: 2,
        nodesFitting: 2,
        obstacles: [],
        costPerHour: 16.000000008,
        capacityExpectedAt: null,
        alternatives: [],
      });
    }
  });

  it.each([
    [{ rentalType: 'bare-metal', gpuCount: 8, region: 'mock-region' }, 'The mock region is for test keys'],
    [{ rentalType: 'bare-metal', gpuCount: 8, region: 'private-cloud' }, 'Bare metal cannot be rented in'],
  ])('explains why %j is not offered', async (request, why) => {
    const { json } = await explain(request);
    expect(json.obstacles).toEqual([
      { code: 'REGION_NOT_OFFERED', message: expect.stringContaining(why) as string, nodeCount: 0 },
    ]);
  });

  it('reports obstacles and alternatives with their prices', async () => {
    const { json } = await explain({ rentalType: 'virtual-machine', gpuCount: 8, gpuType: 'h200' });
    expect(json).toMatchObject({ placeable: false, nodesConsidered: 2, nodesFitting: 0, costPerHour: 24 });
    expect(json.obstacles).toEqual([
      { code: 'WRONG_GPU_TYPE', message: 'The GPUs of these hosts are not h200.', nodeCount: 2 },
    ]);
    expect(json.alternatives).toEqual([
      {
        region: 'eu-west-1',
        gpuType: 'h200',
        gpuCount: 8,
        networkType: 'ethernet',
        costPerHour: 24,
        totalAvailable: 1,
      },
      {
        region: 'us-central-1',
        gpuType: 'h100',
        gpuCount: 8,
        networkType: 'ethernet',
        costPerHour: 16.000000008,
        totalAvailable: 2,
      },
    ]);
  });

  it('names no node, no cluster and no tenant', async () => {
    const request = { rentalType: 'bare-metal', gpuCount: 32, networkType: 'infiniband' };
    const { json, text } = await explain(request);
    expect(json.obstacles).toMatchObject([{ code: 'FABRIC_TOO_SMALL', nodeCount: 3 }]);
    expect(json.alternatives).toMatchObject([{ gpuCount: 16, totalAvailable: 1 }]);
    expect(text).not.toMatch(/node-\d|nod_|cls_|fab_|org_|c-[0-9a-f]{8}|provider-v1|127\.0\.0\.1/);
  });

  it('separates test and live mode', async () => {
    const request = { rentalType: 'virtual-machine', gpuCount: 1 };
    const asTest = (await explain(request, testKey)).json;
    expect(asTest).toMatchObject({ placeable: false, nodesConsidered: 0, costPerHour: 0 });
    expect(asTest.obstacles).toMatchObject([{ code: 'REGION_NOT_OFFERED', nodeCount: 0 }]);
    const inMock = { ...request, region: 'mock-region' };
    expect((await explain(inMock, testKey)).json).toMatchObject({ placeable: true, costPerHour: 0 });
    expect((await explain(inMock)).json).toMatchObject({ placeable: false, nodesConsidered: 0 });
  });

  it.each([
    [{ rentalType: 'virtual-machine', gpuCount: 100_000 }, 'NODE_TOO_SMALL'],
    [{ rentalType: 'bare-metal', gpuCount: 99_999 }, 'GPU_COUNT_NOT_OFFERED'],
    [{ rentalType: 'bare-metal', gpuCount: 8, region: 'private-cloud' }, 'REGION_NOT_OFFERED'],
    [{ rentalType: 'virtual-machine', gpuCount: 1, region: 'ca-west-1' }, 'NO_NODES_IN_REGION'],
    [{ rentalType: 'virtual-machine', gpuCount: 1, cudaVersion: 'cuda12.9' }, 'CUDA_TOO_OLD'],
    [{ rentalType: 'virtual-machine', gpuCount: 1, networkType: 'infiniband' }, 'WRONG_NETWORK'],
  ])('explains %j', async (request, code) => {
    const { status, json } = await explain(request);
    expect(status).toBe(200);
    expect(json.placeable).toBe(false);
    expect(json.obstacles.map((obstacle: { code: string }) => obstacle.code)).toEqual([code]);
  });

  it.each([
    [{ rentalType: 'virtual-machine', gpuCount: 0 }],
    [{ rentalType: 'virtual-machine', gpuCount: 1.5 }],
    [{ rentalType: 'virtual-machine', gpuCount: '1; drop table nodes' }],
    [{ rentalType: 'marketplace', gpuCount: 1 }],
    [{ rentalType: 'virtual-machine', gpuCount: 1, region: ['us-central-1'] }],
    [{ rentalType: 'virtual-machine', gpuCount: 1, cudaVersion: 'cuda99' }],
    [{}],
  ])('refuses %j', async (request) => {
    const { status, json } = await explain(request);
    expect([status, json.reason]).toEqual([400, 'VALIDATION_FAILED']);
  });
});
