import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { seedOrganisation, startRoutes } from '../../routes.fixture.ts';

const fixture = await startRoutes();
const own = await seedOrganisation(fixture.db);
afterAll(() => fixture[Symbol.asyncDispose]());

const PATH = '/v2/ssh-public-keys';
const add = (key: string, publicKey: string, headers: Record<string, string> = {}) =>
  fixture.call({ method: 'POST', path: PATH, key, body: { name: 'laptop', publicKey }, headers });
const list = (key: string) => fixture.call({ method: 'GET', path: PATH, key });
const remove = (key: string, id: string) => fixture.call({ method: 'DELETE', path: `${PATH}/${id}`, key });
const withoutRequestId = (text: string) => text.replace(/"requestId":"[^"]*"/, '');

function freshPem(): string {
  return String(generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }));
}

describe('SSH public keys', () => {
  it('are normalised to the OpenSSH format, and the same key is stored once', async () => {
    const pem = freshPem();
    const added = await add(own.owner.key, pem);
    expect(added.status, added.text).toBe(201);
    expect(added.json).toMatchObject({
      algorithm: 'ssh-ed25519',
      publicKey: expect.stringMatching(/^ssh-ed25519 AAAA\S+$/),
      fingerprint: expect.stringMatching(/^SHA256:/),
    });
    const again = await add(own.owner.key, `${added.json.publicKey} with a comment`);
    expect(again).toMatchObject({ status: 409, json: { reason: 'SSH_KEY_DUPLICATE' } });
    const { json } = await list(own.owner.key);
    expect(json.items.filter((item: { id: string }) => item.id === added.json.id)).toHaveLength(1);
  });

  it('are stored once if twenty concurrent requests send the same key', async () => {
    const pem = freshPem();
    const responses = await Promise.all(Array.from({ length: 20 }, () => add(own.owner.key, pem)));
    expect(responses.filter((response) => response.status === 201)).toHaveLength(1);
    expect(responses.filter((response) => response.status === 409)).toHaveLength(19);
  });

  it('are rejected with a warning if they are private, and nothing is stored or logged', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
    const response = await add(own.owner.key, pem, { 'idempotency-key': 'a private key' });
    expect(response).toMatchObject({
      status: 422,
      json: { reason: 'SSH_KEY_INVALID', issues: [{ code: 'private_key' }] },
    });
    expect(response.json.message).toContain('PRIVATE key');
    const secret = pem.split('\n')[3] ?? '';
    expect(secret.length).toBeGreaterThan(40);
    expect(response.text).not.toContain(secret);
    expect(fixture.logs()).not.toContain(secret);
    for (const table of ['ssh_public_keys', 'audit_log', 'idempotency_keys', 'outbox']) {
      const { rows } = await fixture.database.query(`select 1 from ${table} as t where t::text like $1`, [
        `%${secret.slice(0, 30)}%`,
      ]);
      expect(rows.length, table).toBe(0);
    }
    // The rejection stored nothing under its idempotency key: the public half can be sent with the same one.
    const half = String(createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }));
    expect((await add(own.owner.key, half, { 'idempotency-key': 'a private key' })).status).toBe(201);
  });

  it('belong to one user, in one mode', async () => {
    const [member, test] = [await own.addPerson('member'), await own.ownerKey('test')];
    const pem = freshPem();
    const mine = await add(own.owner.key, pem);
    expect((await add(member.key, pem)).status).toBe(201);
    expect((await add(test.key, pem)).status).toBe(201);
    expect((await list(member.key)).json.items).toHaveLength(1);
    expect((await list(test.key)).json.items).toHaveLength(1);
    for (const outsider of [member, test]) {
      const response = await remove(outsider.key, mine.json.id);
      const absent = await remove(outsider.key, 'ssh_00000000000000000000000000');
      expect(response.status).toBe(404);
      expect(withoutRequestId(response.text)).toBe(withoutRequestId(absent.text));
    }
    expect((await remove(own.owner.key, mine.json.id)).status).toBe(204);
    expect((await remove(own.owner.key, mine.json.id)).status).toBe(404);
  });

  it('are identified in the audit log by fingerprint', async () => {
    const { json } = await add(own.owner.key, freshPem());
    const log = await fixture.call({
      method: 'GET',
      path: `/v2/audit-log?resourceId=${json.id}`,
      key: own.owner.key,
    });
    expect(log.json.items).toMatchObject([
      { action: 'ssh_key.created', details: { after: { fingerprint: json.fingerprint } } },
    ]);
  });
});

describe('a repeated request', () => {
  it('of the same user gets the first result, also through another of their keys', async () => {
    const [pem, header] = [freshPem(), { 'idempotency-key': 'my laptop' }];
    const first = await add(own.owner.key, pem, header);
    const again = await add((await own.ownerKey('live')).key, pem, header);
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(again.json).toEqual(first.json);
  });

  it('of another user is not a repetition and does not reveal the first result', async () => {
    const [pem, header] = [freshPem(), { 'idempotency-key': 'our laptop' }];
    await add(own.owner.key, pem, header);
    const colleague = await own.addPerson('member');
    const response = await add(colleague.key, pem, header);
    expect([response.status, response.json.reason]).toEqual([409, 'IDEMPOTENCY_KEY_REUSED']);
    expect((await list(colleague.key)).json.items).toEqual([]);
    expect((await add(colleague.key, pem)).status).toBe(201);
  });

  it('without the scope is rejected before any look-up', async () => {
    const [pem, header] = [freshPem(), { 'idempotency-key': 'narrow' }];
    await add(own.owner.key, pem, header);
    const body = { name: 'narrow', scopes: ['ssh-keys:read'] };
    const { json } = await fixture.call({ method: 'POST', path: '/v2/api-keys', key: own.owner.key, body });
    expect((await add(String(json.key), pem, header)).json.reason).toBe('INSUFFICIENT_SCOPE');
  });
});

describe('operations', () => {
  it('return the result of a request, by id and by key, only to its organisation and mode', async () => {
    const response = await add(own.owner.key, freshPem(), { 'idempotency-key': 'find me' });
    const id = String(response.headers['operation-id']);
    const read = (key: string, path: string) =>
      fixture.call({ method: 'GET', path: `/v2/operations${path}`, key });
    const byId = await read(own.owner.key, `/${id}`);
    expect(byId.json).toMatchObject({
      id,
      operationId: 'createSshPublicKey',
      status: 'succeeded',
      httpStatus: 201,
      resource: { kind: 'ssh-public-key', id: response.json.id },
    });
    expect((await read(own.owner.key, '?idempotencyKey=find%20me')).text).toBe(byId.text);
    const outsider = await seedOrganisation(fixture.db);
    const foreign = await read(outsider.owner.key, `/${id}`);
    const absent = await read(outsider.owner.key, '/op_00000000000000000000000000');
    expect(foreign.status).toBe(404);
    expect(withoutRequestId(absent.text)).toBe(withoutRequestId(foreign.text));
    const test = await own.ownerKey('test');
    expect((await read(test.key, `/${id}`)).status).toBe(404);
  });
});

describe('a user who is being removed', () => {
  it('has no working key afterwards, whatever they were creating at that moment', async () => {
    for (let round = 0; round < 3; round++) {
      const member = await own.addPerson('member');
      const create = () =>
        fixture.call({
          method: 'POST',
          path: '/v2/api-keys',
          key: member.key,
          body: { name: 'escape', scopes: ['rentals:read'] },
        });
      const path = `/v2/organisations/${own.organisation.id}/members/${member.userId}`;
      const removal = () => fixture.call({ method: 'DELETE', path, key: own.owner.key });
      const responses = await Promise.all([create(), create(), removal(), create(), create()]);
      expect(responses[2]?.status).toBe(204);
      for (const response of responses) {
        if (response.status !== 201) continue;
        const me = await fixture.call({ method: 'GET', path: '/v2/me', key: response.json.key });
        expect(me.json.reason).toBe('API_KEY_REVOKED');
      }
    }
  });
});
