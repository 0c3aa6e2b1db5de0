import { uniqueId } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { servePrices } from '../../prices/index.ts';
import { seedOrganisation, startRoutes } from '../../routes.fixture.ts';
import { serveCatalog } from '../index.ts';

const fixture = await startRoutes((deps) => {
  serveCatalog({ ...deps, allowPlaintext: false, flushKeyFeed: async () => {} });
  servePrices(deps);
});
const operator = await seedOrganisation(fixture.db, { platformRole: 'operator' });
const acme = await seedOrganisation(fixture.db);
afterAll(() => fixture[Symbol.asyncDispose]());

const send = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown) =>
  fixture.call({
    method,
    path: `/v2/admin${path}`,
    key: operator.owner.key,
    ...(body === undefined ? {} : { body }),
  });

const newName = (): string => `maker/${uniqueId()}`;

async function newModel(fields: object = {}): Promise<string> {
  const response = await send('POST', '/models', {
    name: newName(),
    modality: 'chat',
    ownedBy: 'maker',
    ...fields,
  });
  expect(response.status, response.text).toBe(201);
  return response.json.name;
}

const changeModel = (name: string, change: object) =>
  send('PATCH', `/models/${encodeURIComponent(name)}`, { reason: 'as decided', ...change });

async function newDeployment(model: string, fields: object = {}) {
  const place = { engine: 'vllm', address: 'https://10.0.0.1:8000', region: 'us-central-1' };
  const response = await send('POST', '/deployments', { model, ...place, ...fields });
  expect(response.status, response.text).toBe(201);
  return response.json as { readonly id: string; readonly [field: string]: unknown };
}

describe('models', () => {
  it('are created with defaults, changed field by field, and listed by name', async () => {
    const name = await newModel({ contextLength: 8_192 });
    const changed = await changeModel(name, { maxOutputTokens: 512, visibleTo: [acme.organisation.id] });
    expect(changed.json).toMatchObject({
      ...{ name, mode: 'live', contextLength: 8_192, maxOutputTokens: 512, enabled: true },
      ...{ aliases: [], fallbacks: [], visibleTo: [acme.organisation.id], inputModalities: ['text'] },
    });
    const { json } = await send('GET', '/models?limit=200');
    const names = (json.items as { name: string }[]).map((model) => model.name);
    expect(names).toContain(name);
    expect(names).toEqual(names.toSorted());
  });

  it('have unique names: no other model or alias can have the same name', async () => {
    const alias = newName();
    const name = await newModel({ aliases: [alias] });
    for (const taken of [name, alias]) {
      const again = await send('POST', '/models', { name: taken, modality: 'chat', ownedBy: 'maker' });
      expect([again.status, again.json.reason]).toEqual([409, 'MODEL_NAME_TAKEN']);
      const other = await send('POST', '/models', {
        ...{ name: newName(), modality: 'chat', ownedBy: 'maker', aliases: [taken] },
      });
      expect([other.status, other.json.reason]).toEqual([409, 'MODEL_NAME_TAKEN']);
    }
    await changeModel(name, { aliases: [] });
    expect(await newModel({ aliases: [alias] })).not.toBe(name);
  });

  it('that request the same alias at once: one gets it', async () => {
    const alias = newName();
    const responses = await Promise.all(
      Array.from({ length: 6 }, () =>
        send('POST', '/models', { name: newName(), modality: 'chat', ownedBy: 'maker', aliases: [alias] }),
      ),
    );
    expect(responses.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      201, 409, 409, 409, 409, 409,
    ]);
  });

  it.each([
    ['itself as a fallback', (name: string) => ({ fallbacks: [name] })],
    ['a fallback that does not exist', () => ({ fallbacks: ['maker/none'] })],
    ['one fallback twice', (_: string, other: string) => ({ fallbacks: [other, other] })],
    ['its own name as an alias', (name: string) => ({ aliases: [name] })],
    ['one alias twice', () => ({ aliases: ['maker/twice', 'maker/twice'] })],
    ['an organisation that does not exist', () => ({ visibleTo: ['org_01JD8Q7XK4T2M9V6B3N5C1F0GH'] })],
  ])('are rejected with %s', async (_, change) => {
    const [name, other] = [await newModel(), await newModel()];
    const response = await changeModel(name, change(name, other));
    expect([response.status, response.json.reason]).toEqual([400, 'VALIDATION_FAILED']);
  });

  it('fall back only to models of the same modality', async () => {
    const [chat, image] = [await newModel(), await newModel({ modality: 'image' })];
    expect((await changeModel(chat, { fallbacks: [image] })).json.reason).toBe('VALIDATION_FAILED');
    expect((await changeModel(chat, { fallbacks: [await newModel()] })).status).toBe(200);
  });
});

describe('deployments', () => {
  it('use the model name by default, and an address without /v1 and slashes', async () => {
    const model = await newModel();
    const made = await newDeployment(model, { address: 'https://engines.example.com/one/v1/' });
    expect(made).toMatchObject({
      ...{ model, upstreamModel: model, address: 'https://engines.example.com/one' },
      ...{ weight: 100, maxConcurrency: null, enabled: true, hasApiKey: false, health: 'unknown' },
    });
  });

  it.each(['http://user:secret@10.0.0.1', 'http://10.0.0.1?x=1', 'http://10.0.0.1#x', 'ftp://10.0.0.1'])(
    'reject the address %s',
    async (address) => {
      const model = await newModel();
      const place = { model, engine: 'vllm', region: 'us-central-1', address };
      expect((await send('POST', '/deployments', place)).json.reason).toBe('VALIDATION_FAILED');
    },
  );

  it("never show the engine's key in a response, audit entry, row or log", async () => {
    const secret = `sk-${uniqueId()}${uniqueId()}`;
    const { id } = await newDeployment(await newModel(), { apiKey: secret });
    const changed = await send('PATCH', `/deployments/${id}`, { apiKey: `${secret}-2`, weight: 3 });
    expect(changed.json).toMatchObject({ hasApiKey: true, weight: 3 });
    const listed = await send('GET', '/deployments?limit=200');
    const audit = await fixture.db.kysely.selectFrom('audit_log').selectAll().execute();
    const rows = await fixture.db.kysely.selectFrom('inference_deployments').selectAll().execute();
    const everything = JSON.stringify([changed.json, listed.json, audit, rows], (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    );
    expect(everything).toContain(id);
    expect(everything.includes(secret)).toBe(false);
    expect(fixture.logs().includes(secret)).toBe(false);
    expect((await send('PATCH', `/deployments/${id}`, { apiKey: null })).json.hasApiKey).toBe(false);
  });

  it('on other machines need TLS, also when the address is changed later', async () => {
    const model = await newModel();
    const place = { model, engine: 'vllm', address: 'http://10.0.0.1:8000', region: 'us-central-1' };
    const refused = await send('POST', '/deployments', place);
    expect([refused.status, refused.json.reason]).toEqual([400, 'VALIDATION_FAILED']);
    expect(refused.text).toContain('must begin with https://');
    const { id } = await newDeployment(model, { address: 'http://127.0.0.1:8000' });
    const changed = await send('PATCH', `/deployments/${id}`, { address: place.address });
    expect(changed.status).toBe(400);
  });

  it('are listed by model, changed field by field and deleted', async () => {
    const model = await newModel();
    const [first, second] = [await newDeployment(model), await newDeployment(model)];
    const changed = await send('PATCH', `/deployments/${first.id}`, { enabled: false });
    expect(changed.json).toMatchObject({ enabled: false, weight: 100, address: 'https://10.0.0.1:8000' });
    expect((await send('DELETE', `/deployments/${first.id}`)).status).toBe(204);
    expect((await send('DELETE', `/deployments/${first.id}`)).json.reason).toBe('DEPLOYMENT_NOT_FOUND');
    const listed = await send('GET', `/deployments?model=${encodeURIComponent(model)}`);
    expect((listed.json.items as { id: string }[]).map(({ id }) => id)).toEqual([second.id]);
  });
});

describe('the reason of an operator action', () => {
  const reasonsOf = async (id: string): Promise<readonly string[]> => {
    const { json } = await send('GET', `/audit-log?resourceId=${encodeURIComponent(id)}`);
    return json.items.map(({ action, reason }: { action: string; reason: string }) => `${action}: ${reason}`);
  };

  it('is recorded for models and deployments, and is not one of their fields', async () => {
    const name = await newModel({ reason: 'asked for by many' });
    expect(await reasonsOf(name)).toEqual(['model.created: asked for by many']);
    const { id, reason } = await newDeployment(name, { reason: 'first engine' });
    expect(reason).toBeUndefined();
    await send('PATCH', `/deployments/${id}`, { weight: 5, reason: 'half of it is slow' });
    await send('DELETE', `/deployments/${id}?reason=${encodeURIComponent('taken apart')}`);
    expect(await reasonsOf(id)).toEqual([
      'deployment.deleted: taken apart',
      'deployment.changed: half of it is slow',
      'deployment.created: first engine',
    ]);
  });

  it('is recorded for reserved terms and withdrawn discounts', async () => {
    const term = await send('POST', '/reserve-options', {
      ...{ machineType: 'virtual-machine', gpuType: 'h100', region: null, termPeriodDays: 30 },
      ...{ discountPercentage: 10, earlyTerminationRefundPercentage: 0, reason: 'autumn' },
    });
    expect(await reasonsOf(term.json.id)).toEqual(['reserve_option.created: autumn']);
    const path = `/organisations/${acme.organisation.id}/entitlements`;
    const { json } = await send('POST', path, { maxDiscountPercentage: 5, reason: 'contract 17' });
    await send('DELETE', `${path}/${json.id}?reason=${encodeURIComponent('contract ended')}`);
    expect(await reasonsOf(json.id)).toEqual([
      'entitlement.revoked: contract ended',
      'entitlement.created: contract 17',
    ]);
  });
});
