import { generateKeyPairSync } from 'node:crypto';
import { seedOrganisation } from '@millrace/core/fixture';
import { insertMarketplaceProvider, insertSupplier } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { startApiFixture } from './api.fixture.ts';

const fixture = await startApiFixture();
const operator = await seedOrganisation(fixture.db, { platformRole: 'operator', supplies: true });
await insertSupplier(fixture.db, { orgId: operator.organisation.id });
await insertMarketplaceProvider(fixture.db);
afterAll(() => fixture[Symbol.asyncDispose]());

const publicKey = String(generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }));

/** Text that JSON allows and PostgreSQL refuses in full or in part. */
const texts = [
  'a\u0000b',
  'a\ud800b',
  '\udc00',
  'é\u0301\u202e',
  '😀'.repeat(50),
  "'; drop table users; --",
  '%',
  '\\',
];

describe.each(texts)('text %j', (text) => {
  const encoded = encodeURIComponent(text.toWellFormed());

  it.each([
    ['POST', '/v2/api-keys', { name: text, scopes: ['rentals:read'] }],
    ['POST', '/v2/ssh-public-keys', { name: text, publicKey }],
    ['POST', '/v2/ssh-public-keys', { name: 'x', publicKey: text }],
    ['PATCH', '/v2/organisations/{organisationId}', { name: text }],
    ['POST', '/v2/admin/organisations', { name: text, owner: { email: 'a@example.com', name: text } }],
    ['PATCH', `/v2/admin/providers/${encoded}`, { enabled: false, reason: text }],
    [
      'POST',
      '/v2/admin/clusters',
      { name: 'c', providerId: text, region: text, driver: 'mock', endpoint: text },
    ],
    ['POST', '/v2/supplier/join-tokens', { description: text, clusterName: 'c', region: 'us-central-1' }],
    ['POST', '/v2/supplier/join-tokens', { clusterName: text, region: text }],
    ['GET', `/v2/supplier/machines?cursor=${encoded}`, undefined],
    ['GET', `/v2/admin/machines?cursor=${encoded}`, undefined],
    ['GET', `/v2/admin/providers?cursor=${encoded}`, undefined],
    ['GET', `/v2/admin/clusters?providerId=${encoded}`, undefined],
    ['GET', `/v2/operations?idempotencyKey=${encoded}`, undefined],
    ['GET', `/v2/audit-log?action=${encoded}&actorId=${encoded}&resourceId=${encoded}`, undefined],
    ['GET', `/v2/api-keys?cursor=${encoded}`, undefined],
    ['GET', `/v2/api-keys/${encoded}`, undefined],
  ] as const)('never causes a 5xx in %s %s', async (method, path, body) => {
    const response = await fixture.call({
      method,
      path: path.replace('{organisationId}', operator.organisation.id),
      key: operator.owner.key,
      ...(body === undefined ? {} : { body }),
    });
    expect(response.status, response.text).toBeLessThan(500);
  });
});

describe.each(texts)('text %j in a supplier application', (text) => {
  it('never causes a 5xx', async () => {
    const { organisation, owner } = await seedOrganisation(fixture.db);
    const body = { name: text, about: text };
    const path = '/v2/supplier/application';
    const response = await fixture.call({ method: 'POST', path, key: owner.key, body });
    expect(response.status, response.text).toBeLessThan(500);
    if (response.status === 201)
      expect(response.json).toMatchObject({ organisationId: organisation.id, ...body });
  });
});
