import { contract } from '@millrace/contract';
import { systemClock } from '@millrace/platform/clock';
import {
  callServer,
  createRouteServer,
  fullAccessPrincipal,
  createTenant,
  createTestDatabase,
  testIds,
  uniqueId,
  type CallRequest,
} from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { servePrices } from './index.ts';

const database = await createTestDatabase();
const { db } = database;
const { orgId: organisationId, ownerId: userId } = await createTenant(db);
const operator = fullAccessPrincipal({ orgId: organisationId, userId });
const server = createRouteServer({ authenticate: async () => operator, db });
servePrices({ server, operations: contract.operations, db, clock: systemClock });
afterAll(async () => {
  await server.close();
  await database.drop();
});

const send = (
  method: CallRequest['method'],
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
) => callServer(server, { method, path, key: 'anything', body, headers });

const gpuPrice = (gpuType: string, fields: object = {}): object => ({
  subject: { kind: 'gpu', gpuType, machineType: 'virtual-machine', region: null },
  unit: 'gpu_hour',
  priceNanoUsd: '3980000000',
  validFrom: '2026-01-01T00:00:00.000Z',
  reason: 'opening',
  ...fields,
});

describe('operator routes for prices', () => {
  it('create, list and end prices; an omitted network means all networks', async () => {
    const gpuType = uniqueId();
    const made = await send('POST', '/v2/admin/prices', gpuPrice(gpuType, { organisationId }));
    expect(made).toMatchObject({
      status: 201,
      json: {
        organisationId,
        subject: { kind: 'gpu', gpuType, machineType: 'virtual-machine', region: null, networkType: null },
        priceNanoUsd: '3980000000',
        validFrom: '2026-01-01T00:00:00.000Z',
        validUntil: null,
      },
    });
    const { id } = made.json;
    const list = async (query: string): Promise<unknown> =>
      (await send('GET', `/v2/admin/prices?organisationId=${organisationId}&${query}`)).json['items'];
    expect(await list('at=2026-01-01T00:00:00.000Z')).toEqual([made.json]);
    expect(await list('at=2025-12-31T23:59:59.999Z')).toEqual([]);
    const ended = await send('POST', `/v2/admin/prices/${String(id)}/end`, { reason: 'no more' });
    expect(ended).toMatchObject({ status: 200, json: { id, validUntil: expect.any(String) } });
    expect(await list('limit=5')).toEqual([ended.json]);
  });

  it('replay a request with its idempotency key, and otherwise report that the price exists', async () => {
    const body = gpuPrice(uniqueId());
    const key = { 'idempotency-key': uniqueId() };
    const first = await send('POST', '/v2/admin/prices', body, key);
    const again = await send('POST', '/v2/admin/prices', body, key);
    expect([again.status, again.json]).toEqual([201, first.json]);
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(await send('POST', '/v2/admin/prices', body)).toMatchObject({
      status: 409,
      json: { reason: 'PRICE_EXISTS' },
    });
  });

  it.each<[string, object, string]>([
    ['a GPU priced by the token', { unit: 'token' }, 'unit'],
    ['a negative price', { priceNanoUsd: '-5' }, 'priceNanoUsd'],
    ['an end before the start', { validUntil: '2025-01-01T00:00:00.000Z' }, 'validUntil'],
  ])('report the invalid field of %s', async (_, wrong, field) => {
    const response = await send('POST', '/v2/admin/prices', gpuPrice(uniqueId(), wrong));
    expect(response).toMatchObject({
      status: 400,
      json: { reason: 'VALIDATION_FAILED', issues: [{ path: [field] }] },
    });
  });

  it('create reserve options and entitlements, in percent', async () => {
    const gpuType = uniqueId();
    const fields = {
      machineType: 'bare-metal',
      gpuType,
      region: 'us-central-1',
      termPeriodDays: 365,
      discountPercentage: 33.3333,
      earlyTerminationRefundPercentage: 0.0001,
    };
    const option = await send('POST', '/v2/admin/reserve-options', fields);
    expect(option).toMatchObject({ status: 201, json: fields });
    expect((await send('GET', '/v2/admin/reserve-options')).json['items']).toContainEqual(option.json);

    const path = `/v2/admin/organisations/${organisationId}/entitlements`;
    const grant = { maxDiscountPercentage: 12.5, gpuType, contractReference: 'C-1', reason: 'contract' };
    const granted = await send('POST', path, grant);
    expect(granted).toMatchObject({
      status: 201,
      json: {
        organisationId,
        maxDiscountPercentage: 12.5,
        gpuType,
        contractReference: 'C-1',
        validUntil: null,
      },
    });
    expect((await send('GET', path)).json['items']).toEqual([granted.json]);
    const revoke = () => send('DELETE', `${path}/${String(granted.json['id'])}`);
    expect([(await revoke()).status, (await revoke()).status]).toEqual([204, 204]);
    expect((await send('GET', path)).json['items']).toEqual([]);
  });

  it('refuse an unknown organisation', async () => {
    const absent = testIds.next('org');
    const path = `/v2/admin/organisations/${absent}/entitlements`;
    const missing = { status: 404, json: { reason: 'ORGANISATION_NOT_FOUND' } };
    expect(await send('GET', path)).toMatchObject(missing);
    expect(await send('POST', path, { maxDiscountPercentage: 1, reason: 'contract' })).toMatchObject(missing);
    const price = gpuPrice(uniqueId(), { organisationId: absent });
    expect(await send('POST', '/v2/admin/prices', price)).toMatchObject(missing);
  });
});
