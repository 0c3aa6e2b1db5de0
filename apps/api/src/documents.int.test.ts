import { compareServed, contract } from '@millrace/contract';
import { seedOrganisation } from '@millrace/core/fixture';
import { afterAll, describe, expect, it } from 'vitest';
import { startApiFixture } from './api.fixture.ts';

const fixture = await startApiFixture({ openDocuments: true, publicUrl: 'https://api.example.com' });
const theirs = await seedOrganisation(fixture.db);
afterAll(() => fixture[Symbol.asyncDispose]());

it('api serves exactly the operations of the contract', () => {
  expect(compareServed(contract, 'api', fixture.api.server.served())).toEqual({
    missing: [],
    stillPending: [],
    unknown: [],
  });
});

describe('documents and health', () => {
  it('OpenAPI documents need a key unless the operator opens them', async () => {
    const keyed = await fixture.call({ method: 'GET', path: '/v2/openapi.json', key: theirs.owner.key });
    expect(keyed.json).toMatchObject({ openapi: expect.stringMatching(/^3\.1/), info: { version: '2.0.0' } });
    expect(keyed.json.servers).toMatchObject([{ url: 'https://api.example.com' }]);
    const open = await fixture.call({ method: 'GET', path: '/openapi/v2.json' });
    expect(open.headers['etag']).toBe(keyed.headers['etag']);
    const etag = String(open.headers['etag']);
    const again = await fixture.call({
      method: 'GET',
      path: '/openapi/v2.json',
      headers: { 'if-none-match': etag },
    });
    expect(again.status).toBe(304);
    expect(again.headers).toMatchObject({
      ratelimit: expect.any(String),
      'x-request-id': expect.any(String),
    });
    // The API reference lists no 304 for this path.
    const conditional = {
      method: 'GET',
      path: '/v2/openapi.json',
      headers: { 'if-none-match': etag },
    } as const;
    const whole = await fixture.call({ ...conditional, key: theirs.owner.key });
    expect([whole.status, whole.json.info.version]).toEqual([200, '2.0.0']);
    for (const name of ['v1', 'admin', 'supplier']) {
      expect((await fixture.call({ method: 'GET', path: `/openapi/${name}.json` })).status, name).toBe(200);
    }
  });

  it('error page explains every error without a key at its docUrl', async () => {
    const response = await fixture.call({ method: 'GET', path: '/v2/me' });
    const path = String(response.json.docUrl);
    const open = { method: 'GET', url: path.slice(0, path.indexOf('#')) } as const;
    const { fastify } = fixture.api.server;
    const plain = await fastify.inject(open);
    expect(plain.headers['content-type']).toMatch(/^text\/markdown/);
    expect(plain.body).toContain('## MISSING_API_KEY');
    const browser = await fastify.inject({ ...open, headers: { accept: 'text/html,*/*;q=0.8' } });
    expect(browser.headers['content-type']).toMatch(/^text\/html/);
    expect(browser.body).toContain('<h2 id="MISSING_API_KEY">');
  });

  it('/healthz and /readyz respond without a key', async () => {
    expect((await fixture.call({ method: 'GET', path: '/healthz' })).json).toEqual({
      live: true,
      state: 'running',
      version: '0.0.0',
      commit: null,
    });
    const readiness = async () => (await fixture.call({ method: 'GET', path: '/readyz' })).json.ready;
    await expect.poll(readiness).toBe(true);
  });
});
