import { contract } from '@millrace/contract';
import { plantRequest, testIds } from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seedOrganisation, startApiFixture, type ApiFixture, type SeededOrganisation } from './fixture.ts';

let fixture: ApiFixture;
let acme: SeededOrganisation;
let other: SeededOrganisation;
beforeAll(async () => {
  fixture = await startApiFixture();
  acme = await seedOrganisation(fixture.db);
  other = await seedOrganisation(fixture.db);
});
afterAll(() => fixture[Symbol.asyncDispose]());

const { getRequestCost, getRequestUsage } = contract.operations;

const costs = async (requestIds: readonly string[], key = acme.owner.key) => {
  const answer = await fixture.call({
    method: getRequestCost.method,
    path: getRequestCost.path,
    key,
    body: { requestIds },
  });
  return { status: answer.status, requests: answer.json.requests as unknown };
};

describe('the cost of requests', () => {
  it('is told for the own ones, in the order asked, each once, and for nothing else', async () => {
    const [first, second, foreign] = await Promise.all([
      plantRequest(fixture.db, { orgId: acme.organisation.id, cost: 1n }),
      plantRequest(fixture.db, { orgId: acme.organisation.id, cost: 9_007_199_254_740_991n }),
      plantRequest(fixture.db, { orgId: other.organisation.id }),
    ]);
    const asked = [second, foreign, testIds.next('req'), 'nonsense', first.toLowerCase(), '', first, second];
    expect(await costs(asked)).toEqual({
      status: 200,
      requests: [
        { requestId: second, costNanoUsd: 9_007_199_254_740_991 },
        { requestId: first, costNanoUsd: 1 },
      ],
    });
    expect(await costs([foreign])).toEqual({ status: 200, requests: [] });
    expect(await costs([foreign], other.owner.key)).toMatchObject({ requests: [{ requestId: foreign }] });
  });

  it('is told for a hundred at once and for none', async () => {
    const ids = Array.from({ length: 100 }, () => testIds.next('req'));
    expect(await costs(ids)).toEqual({ status: 200, requests: [] });
    expect(await costs([])).toEqual({ status: 200, requests: [] });
    expect(await costs([...ids, testIds.next('req')])).toMatchObject({ status: 400 });
  });

  it('of test requests is told to test keys alone, and is nothing', async () => {
    const test = await plantRequest(fixture.db, { orgId: acme.organisation.id, mode: 'test' });
    const live = await plantRequest(fixture.db, { orgId: acme.organisation.id });
    const { key } = await acme.ownerKey('test');
    expect(await costs([test, live], key)).toMatchObject({ requests: [{ requestId: test, costNanoUsd: 0 }] });
    expect(await costs([test, live])).toMatchObject({ requests: [{ requestId: live, costNanoUsd: 1_234 }] });
  });
});

describe('a single request', () => {
  const read = (id: string, key: string) =>
    fixture.call({ method: 'GET', path: getRequestUsage.path.replace('{requestId}', id), key });

  it('is shown to its owner whole', async () => {
    const id = await plantRequest(fixture.db, { orgId: acme.organisation.id });
    const answer = await read(id, acme.owner.key);
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({
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

  it('that is foreign answers as one that never was', async () => {
    const foreign = await plantRequest(fixture.db, { orgId: other.organisation.id });
    const [one, none] = [
      await read(foreign, acme.owner.key),
      await read(testIds.next('req'), acme.owner.key),
    ];
    expect([one.status, none.status]).toEqual([404, 404]);
    expect({ ...one.json, requestId: '' }).toEqual({ ...none.json, requestId: '' });
  });
});
