import { contract } from '@millrace/contract';
import { toUuid } from '@millrace/platform/ids';
import { insertRequest, testIds } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { serveBilling, zeroBurnRate } from '../../billing/index.ts';
import { batchIdOf, insertBatch } from '../../money.fixture.ts';
import { seedOrganisation, startRoutes } from '../../routes.fixture.ts';
import { serveRequestUsage } from '../index.ts';

const fixture = await startRoutes((deps) => {
  serveRequestUsage(deps);
  serveBilling({ ...deps, burnOf: zeroBurnRate });
});
const acme = await seedOrganisation(fixture.db);
const other = await seedOrganisation(fixture.db);
afterAll(() => fixture[Symbol.asyncDispose]());

const { getRequestCost, getRequestUsage, listBatchRequests, listLedgerEntries } = contract.operations;

interface LedgerLine {
  readonly amountNanoUsd: string;
  readonly cause: { readonly kind: string; readonly id: string };
}

const costs = async (requestIds: readonly string[], key = acme.owner.key) => {
  const response = await fixture.call({
    method: getRequestCost.method,
    path: getRequestCost.path,
    key,
    body: { requestIds },
  });
  return { status: response.status, requests: response.json.requests as unknown };
};

describe('getRequestCost', () => {
  it("returns the organisation's own requests only, in the requested order, each once", async () => {
    const [first, second, foreign] = await Promise.all([
      insertRequest(fixture.db, { orgId: acme.organisation.id, cost: 1n }),
      insertRequest(fixture.db, { orgId: acme.organisation.id, cost: 9_007_199_254_740_991n }),
      insertRequest(fixture.db, { orgId: other.organisation.id }),
    ]);
    const ids = [second, foreign, testIds.next('req'), 'nonsense', first.toLowerCase(), '', first, second];
    expect(await costs(ids)).toEqual({
      status: 200,
      requests: [
        { requestId: second, costNanoUsd: 9_007_199_254_740_991 },
        { requestId: first, costNanoUsd: 1 },
      ],
    });
    expect(await costs([foreign])).toEqual({ status: 200, requests: [] });
    expect(await costs([foreign], other.owner.key)).toMatchObject({ requests: [{ requestId: foreign }] });
  });

  it('accepts a hundred ids and none', async () => {
    const ids = Array.from({ length: 100 }, () => testIds.next('req'));
    expect(await costs(ids)).toEqual({ status: 200, requests: [] });
    expect(await costs([])).toEqual({ status: 200, requests: [] });
    expect(await costs([...ids, testIds.next('req')])).toMatchObject({ status: 400 });
  });

  it('returns test requests to test keys only, at no cost', async () => {
    const test = await insertRequest(fixture.db, { orgId: acme.organisation.id, mode: 'test' });
    const live = await insertRequest(fixture.db, { orgId: acme.organisation.id });
    const { key } = await acme.ownerKey('test');
    expect(await costs([test, live], key)).toMatchObject({ requests: [{ requestId: test, costNanoUsd: 0 }] });
    expect(await costs([test, live])).toMatchObject({ requests: [{ requestId: live, costNanoUsd: 1_234 }] });
  });
});

describe('a single request', () => {
  const read = (id: string, key: string) =>
    fixture.call({ method: 'GET', path: getRequestUsage.path.replace('{requestId}', id), key });

  it('is shown in full to its organisation', async () => {
    const id = await insertRequest(fixture.db, { orgId: acme.organisation.id });
    const response = await read(id, acme.owner.key);
    expect(response.status).toBe(200);
    expect(response.json).toEqual({
      id,
      model: 'planted',
      deployment: 'deployment-one',
      created_at: expect.stringMatching(/Z$/),
      streamed: true,
      cancelled: false,
      finish_reason: 'stop',
      latency_ms: 150,
      ttft_ms: 30,
      generation_ms: 120,
      tokens_prompt: 12,
      tokens_completion: 40,
      tokens_cached: 3,
      cost_nano_usd: 1_234,
      attempts: [
        {
          deployment: 'deployment-one',
          started_at: expect.stringMatching(/Z$/),
          duration_ms: 149,
          status: 200,
          error: null,
        },
      ],
    });
  });

  it('shows test keys the cost of live mode, unless the model has no price', async () => {
    const { key } = await acme.ownerKey('test');
    const id = await insertRequest(fixture.db, { orgId: acme.organisation.id, mode: 'test' });
    expect((await read(id, key)).json).not.toHaveProperty('live_cost_nano_usd');
    await fixture.db.kysely
      .insertInto('prices')
      .values(
        (['prompt_token', 'completion_token'] as const).map((unit, index) => ({
          id: toUuid(testIds.next('prc')),
          subject_kind: 'model',
          model: 'planted',
          model_unit: unit,
          unit: 'token',
          price_nano_usd: index === 0 ? 100n : 1_000n,
          valid_from: new Date(0),
          created_at: new Date(0),
        })),
      )
      .execute();
    const { json } = await read(id, key);
    expect(getRequestUsage.response.schema.parse(json)).toEqual(json);
    expect(json).toMatchObject({ cost_nano_usd: 0, live_cost_nano_usd: 12 * 100 + 40 * 1_000 });
    const live = await insertRequest(fixture.db, { orgId: acme.organisation.id });
    expect((await read(live, acme.owner.key)).json).not.toHaveProperty('live_cost_nano_usd');
  });

  it('of another organisation gets the same response as one that does not exist', async () => {
    const foreign = await insertRequest(fixture.db, { orgId: other.organisation.id });
    const [one, none] = [
      await read(foreign, acme.owner.key),
      await read(testIds.next('req'), acme.owner.key),
    ];
    expect([one.status, none.status]).toEqual([404, 404]);
    expect({ ...one.json, requestId: '' }).toEqual({ ...none.json, requestId: '' });
  });
});

describe('a ledger line of inference', () => {
  const open = (batch: string, key: string, query = '') =>
    fixture.call({
      method: 'GET',
      path: `${listBatchRequests.path.replace('{batchId}', batch)}${query}`,
      key,
    });
  const lines = async (query = ''): Promise<readonly LedgerLine[]> => {
    const path = `${listLedgerEntries.path}?causeKind=inference${query}`;
    const response = await fixture.call({ method: 'GET', path, key: acme.owner.key });
    return response.json.items as readonly LedgerLine[];
  };

  it('has a batch whose pages of requests sum to the line', async () => {
    const charged = await insertBatch(fixture.db, acme.organisation.id, [61_900n, 77_777n, 89_123n]);
    const [line] = await lines();
    expect(line).toMatchObject({ amountNanoUsd: '-228800', cause: { kind: 'inference' } });
    const batch = line?.cause.id ?? '';
    expect(batch).toMatch(/^bat_/);
    expect(await lines(`&causeId=${batch}`)).toHaveLength(1);
    const found: { id: string; cost_nano_usd: number }[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const query = cursor === '' ? '?limit=2' : `?limit=2&cursor=${cursor}`;
      const response = await open(batch, acme.owner.key, query);
      expect(response.status).toBe(200);
      found.push(...(response.json.items as typeof found));
      cursor = response.json.nextCursor as string | null;
    }
    expect(found.map(({ id }) => id)).toEqual(charged);
    expect(found.reduce((sum, { cost_nano_usd: cost }) => sum + cost, 0)).toBe(228_800);
  });

  it('of another organisation gets the same response as one that does not exist', async () => {
    const [first = testIds.next('req')] = await insertBatch(fixture.db, other.organisation.id, [5n]);
    const [foreign, absent] = [
      await open(batchIdOf(first), acme.owner.key),
      await open(testIds.next('bat'), acme.owner.key),
    ];
    expect([foreign.status, absent.status]).toEqual([404, 404]);
    expect({ ...foreign.json, requestId: '' }).toEqual({ ...absent.json, requestId: '' });
    expect(foreign.json).toMatchObject({ reason: 'BATCH_NOT_FOUND' });
  });
});

describe('details of archived requests', () => {
  it('are not shown, and the response says from when details exist to the owner and to others', async () => {
    const [own, foreign] = await Promise.all(
      [acme, other].map(({ organisation }) => insertRequest(fixture.db, { orgId: organisation.id })),
    );
    const later = new Date(Date.UTC(2100, 0, 1));
    const batch = await insertBatch(fixture.db, acme.organisation.id, [1n]);
    await fixture.database.query(
      `insert into usage_archives (through, cutoff, requests) values ('2100-01-01', first_id_at('2100-01-01T00:00:00Z'), 0)`,
    );
    for (const id of [own, foreign, testIds.next('req')]) {
      const path = getRequestUsage.path.replace('{requestId}', String(id));
      const { status, json } = await fixture.call({ method: 'GET', path, key: acme.owner.key });
      expect({ status, ...json }).toMatchObject({
        ...{ status: 404, reason: 'REQUEST_NOT_FOUND', detailsSince: later.toISOString() },
        message: 'Details of single requests exist since 2100-01-01; older ones are deleted.',
      });
    }
    expect(await costs([String(own)])).toEqual({ status: 200, requests: [] });
    const path = listBatchRequests.path.replace('{batchId}', String(batch[0]).replace('req_', 'bat_'));
    const { status, json } = await fixture.call({ method: 'GET', path, key: acme.owner.key });
    expect({ status, ...json }).toMatchObject({ status: 404, reason: 'BATCH_NOT_FOUND' });
    await fixture.database.query('delete from usage_archives');
  });
});
