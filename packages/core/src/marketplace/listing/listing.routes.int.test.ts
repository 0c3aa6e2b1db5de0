import { gunzipSync } from 'node:zlib';
import { systemClock } from '@millrace/platform/clock';
import { createTenant, insertSupplierMachine, recordStatements } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { startRoutes } from '../../routes.fixture.ts';
import { createListing, serveListing, type Listing } from '../index.ts';

let listing: Listing;
const fixture = await startRoutes((deps) => {
  listing = createListing(deps);
  serveListing({ ...deps, listing });
});
const tenant = await createTenant(fixture.db);
for (const region of ['us-east', 'us-east', 'eu-1']) {
  await insertSupplierMachine(fixture.db, { orgId: tenant.orgId, region, gpusPerNode: 2 });
}
afterAll(() => fixture[Symbol.asyncDispose]());

const path = '/v1/marketplace';

const look = async (): Promise<void> => {
  while ((await listing.step()) === 'busy');
};

async function send(body: unknown, headers: Readonly<Record<string, string>> = {}) {
  return fixture.call({ method: 'POST', path, body, headers });
}

/** Returns bytes, because the response may be compressed. */
async function sendRaw(body: unknown, headers: Readonly<Record<string, string>> = {}) {
  const response = await fixture.server.fastify.inject({
    method: 'POST',
    url: path,
    headers: { 'content-type': 'application/json', 'accept-encoding': 'br, gzip', ...headers },
    payload: JSON.stringify(body),
  });
  return { status: response.statusCode, headers: response.headers, bytes: response.rawPayload };
}

describe('POST /v1/marketplace', () => {
  it('responds 503 with Retry-After until the listing is loaded', async () => {
    const response = await send({});
    expect([response.status, response.json.reason]).toEqual([503, 'SERVICE_UNAVAILABLE']);
    expect(response.headers['retry-after']).toBeDefined();
    await look();
    expect((await send({})).status).toBe(200);
  });

  it('responds without a database statement, for the whole list and with filters', async () => {
    await look();
    const bodies = [{}, { filters: { region: 'us-east' }, sort: [{ field: 'max_price' }], limit: 1 }];
    const statements = await recordStatements(async () => {
      for (const body of bodies) expect((await send(body)).status).toBe(200);
    });
    expect(statements).toEqual([]);
  });

  it('sends the same machines compressed and plain, with the correct Content-Length', async () => {
    await look();
    for (const body of [{}, { filters: { gpu_model: 'h100' } }, { limit: 2 }]) {
      const [plain, packed] = [await send(body), await sendRaw(body)];
      expect(packed.headers['content-encoding']).toBe('gzip');
      expect(Number(packed.headers['content-length'])).toBe(packed.bytes.length);
      expect(gunzipSync(packed.bytes).toString()).toBe(plain.text);
      expect(plain.headers['content-encoding']).toBeUndefined();
      expect(plain.headers.vary).toBe('accept-encoding');
    }
  });

  it('responds 304 to a matching ETag until a machine changes', async () => {
    await look();
    for (const body of [{}, { filters: { region: 'us-east' } }]) {
      const first = await sendRaw(body);
      const etag = String(first.headers.etag);
      const again = await sendRaw(body, { 'if-none-match': etag });
      expect([again.status, again.bytes.length, again.headers['content-encoding']]).toEqual([
        304,
        0,
        undefined,
      ]);
      expect(again.headers.etag).toBe(etag);
      const { orgId } = await createTenant(fixture.db);
      await insertSupplierMachine(fixture.db, { orgId, region: 'us-west' });
      await look();
      const changed = await sendRaw(body, { 'if-none-match': etag });
      expect(changed.status).toBe(200);
      expect(changed.headers.etag).not.toBe(etag);
    }
  });

  it('reports its age and the ignored filters', async () => {
    const startedMs = systemClock.monotonicMs();
    await look();
    const response = await send({ filters: { region: 'eu-1', colour: 'blue', 'x y': 1 } });
    const sinceMs = systemClock.monotonicMs() - startedMs;
    expect(Number(response.headers['x-listing-age-ms'])).toBeGreaterThanOrEqual(0);
    expect(Number(response.headers['x-listing-age-ms'])).toBeLessThanOrEqual(Math.ceil(sinceMs));
    expect(response.headers['x-ignored-filters']).toBe('colour, x%20y');
    expect(response.json.instances).toHaveLength(1);
  });

  it('pages through all machines by cursor, and rejects an invalid cursor uncompressed', async () => {
    await look();
    const all = (await send({})).json.instances;
    const first = (await send({ limit: 2 })).json;
    const rest = (await send({ limit: 1000, cursor: first.next_cursor })).json;
    expect([...first.instances, ...rest.instances]).toEqual(all);
    expect(rest.next_cursor).toBeNull();
    const refused = await sendRaw({ limit: 2, cursor: 'nonsense' });
    expect([refused.status, refused.headers['content-encoding']]).toEqual([400, undefined]);
    expect(JSON.parse(refused.bytes.toString()).reason).toBe('INVALID_CURSOR');
  });
});
