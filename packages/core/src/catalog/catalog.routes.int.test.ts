import { insertFleet, uniqueId } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { serveOffers } from '../fleet/index.ts';
import { serveCatalog } from '../inference/index.ts';
import { createListing, type Listing } from '../marketplace/index.ts';
import { servePrices } from '../prices/index.ts';
import { seedOrganisation, startRoutes, type RoutesFixture } from '../routes.fixture.ts';
import { servePublicCatalog } from './index.ts';

const { fixture } = await startCatalog();
const operator = await seedOrganisation(fixture.db, { platformRole: 'operator' });
const contractor = await seedOrganisation(fixture.db);
afterAll(() => fixture[Symbol.asyncDispose]());

const get = (headers: Record<string, string> = {}, at = fixture) =>
  at.call({ method: 'GET', path: '/v2/catalog', headers });

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

const price = (subject: object, unit: string, fields: object) =>
  asOperator('prices', {
    subject,
    unit,
    validFrom: '2026-01-01T00:00:00Z',
    reason: 'because of a test',
    ...fields,
  });
const model = (name: string, fields: object) =>
  asOperator('models', {
    name,
    mode: 'live',
    inputModalities: ['text'],
    contextLength: 8_192,
    maxOutputTokens: null,
    ownedBy: 'millrace',
    enabled: true,
    aliases: [],
    fallbacks: [],
    visibleTo: null,
    requestsPerMinute: null,
    ...fields,
  });

await insertFleet(fixture.db, { nodes: 2 });
await insertFleet(fixture.db, { nodes: 1, mode: 'test' });
await price({ kind: 'gpu', region: null, gpuType: 'h100', machineType: 'virtual-machine' }, 'gpu_hour', {
  priceNanoUsd: '2000000001',
});
await price({ kind: 'gpu', region: null, gpuType: 'h100', machineType: 'virtual-machine' }, 'gpu_hour', {
  priceNanoUsd: '1500000000',
  organisationId: contractor.organisation.id,
});
await asOperator('reserve-options', {
  machineType: 'virtual-machine',
  earlyTerminationRefundPercentage: 50,
  gpuType: 'h100',
  region: null,
  termPeriodDays: 30,
  discountPercentage: 20,
});
await model('open/chat', { modality: 'chat' });
await model('open/image', { modality: 'image' });
await model('closed/chat', { modality: 'chat', visibleTo: [contractor.organisation.id] });
await model('off/chat', { modality: 'chat', enabled: false });
await model('test/chat', { modality: 'chat', mode: 'test' });
const tokens = (priceNanoUsd: string, contractOf: object = {}) =>
  price({ kind: 'model', model: 'open/chat', unit: 'prompt_token' }, 'million_tokens', {
    priceNanoUsd,
    ...contractOf,
  });
await tokens('300000000');
await tokens('100000000', { organisationId: contractor.organisation.id });

async function startCatalog(isOpen = true): Promise<{ fixture: RoutesFixture; listing: Listing }> {
  let listing: Listing | undefined;
  const fixture = await startRoutes((deps) => {
    listing = createListing(deps);
    serveOffers(deps);
    servePrices(deps);
    serveCatalog({ ...deps, allowPlaintext: false, flushKeyFeed: async () => {} });
    servePublicCatalog({ ...deps, listing, isOpen });
  });
  if (listing === undefined) throw new Error('No listing was made.');
  return { fixture, listing };
}

describe('GET /v2/catalog', () => {
  it('shows live offers at list prices without a key, as rental-options does', async () => {
    const { status, json } = await get();
    expect(status).toBe(200);
    const own = await fixture.call({
      method: 'GET',
      path: '/v2/on-demand/rental-options',
      key: operator.owner.key,
    });
    expect(json.offers).toEqual(own.json.items);
    expect(json.offers[0]).toMatchObject({
      region: 'us-central-1',
      gpuCount: 1,
      costPerHour: 2.000000001,
      pricePerHourNanoUsd: '2000000001',
      totalAvailable: 16,
    });
    const terms = await fixture.call({
      method: 'GET',
      path: '/v2/on-demand/reserve-options',
      key: operator.owner.key,
    });
    expect(json.reserveOptions).toEqual(terms.json.items);
    expect(json.reserveOptions).toHaveLength(1);
  });

  it('shows public models with their prices', async () => {
    const { json } = await get();
    expect(json.models).toEqual([
      {
        name: 'open/chat',
        ownedBy: 'millrace',
        modality: 'chat',
        inputModalities: ['text'],
        contextLength: 8_192,
        maxOutputTokens: null,
        promptNanoUsdPerMillionTokens: '300000000',
        cachedPromptNanoUsdPerMillionTokens: '300000000',
        completionNanoUsdPerMillionTokens: null,
        imageNanoUsd: null,
        characterNanoUsd: null,
      },
      expect.objectContaining({
        name: 'open/image',
        promptNanoUsdPerMillionTokens: null,
        imageNanoUsd: '10000000',
      }),
    ]);
  });

  it('is read once for concurrent requests, reports its age and supports ETags', async () => {
    const [first, second] = await Promise.all([get(), get()]);
    expect(second.json.asOf).toBe(first.json.asOf);
    expect(first.headers['cache-control']).toBe('public, max-age=10');
    expect(Math.abs(Date.now() - Date.parse(first.json.asOf))).toBeLessThan(30_000);
    const again = await get({ 'if-none-match': String(first.headers['etag']) });
    expect([again.status, again.text]).toEqual([304, '']);
  });

  it('responds with ROUTE_NOT_FOUND if the operator disabled it', async () => {
    const { fixture: closed } = await startCatalog(false);
    try {
      const response = await get({}, closed);
      expect([response.status, response.json.reason]).toEqual([404, 'ROUTE_NOT_FOUND']);
    } finally {
      await closed[Symbol.asyncDispose]();
    }
  });

  it('has no marketplace data before the listing is loaded, and then all of it by GPU', async () => {
    const { fixture: fresh } = await startCatalog();
    try {
      expect((await get({}, fresh)).json.marketplace).toBeNull();
    } finally {
      await fresh[Symbol.asyncDispose]();
    }
    const { fixture: filled, listing } = await startCatalog();
    try {
      while ((await listing.step()) === 'busy');
      expect((await get({}, filled)).json.marketplace).toEqual([]);
    } finally {
      await filled[Symbol.asyncDispose]();
    }
  });
});
