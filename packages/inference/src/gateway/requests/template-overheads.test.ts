import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createGatewayHarness,
  deploymentFixture,
  modelFixture,
  PRICE,
  type GatewayHarness,
} from '../gateway.fixture.ts';
import { createTemplateOverheads } from './template-overheads.ts';

const deployments = [
  deploymentFixture({ id: 'dep_1', address: '' }),
  deploymentFixture({ id: 'dep_2', address: '' }),
];

/** As long as the longest conversation below, so that no count exceeds the bound. */
const plain = { roles: 'u', bytes: 100 };

describe('createTemplateOverheads', () => {
  test('uses the lowest count of each deployment and the highest of those', () => {
    const overheads = createTemplateOverheads();
    expect(overheads.boundFor({ deployments }, 'u')).toBeNull();
    overheads.learn('dep_1', plain, 40);
    overheads.learn('dep_1', plain, 12);
    overheads.learn('dep_1', plain, 90);
    expect(overheads.boundFor({ deployments }, 'u')).toBeNull();
    overheads.learn('dep_2', plain, 30);
    expect(overheads.boundFor({ deployments }, 'u')).toBe(30 + 8);
    expect(overheads.boundFor({ deployments }, 'su')).toBeNull();
  });

  test('learns again when an engine counts more than the bound', () => {
    const overheads = createTemplateOverheads();
    const short = { roles: 'u', bytes: 2 };
    for (const { id } of deployments) overheads.learn(id, short, 11);
    overheads.learn('dep_1', short, 60);
    expect(overheads.boundFor({ deployments }, 'u')).toBe(60 + 8);
  });

  test('includes a deployment of weight 0 that has responded, and does not wait for one that has not', () => {
    const overheads = createTemplateOverheads();
    const spare = { ...deploymentFixture({ id: 'dep_2', address: '' }), weight: 0 };
    const model = { deployments: [deploymentFixture({ id: 'dep_1', address: '' }), spare] };
    overheads.learn('dep_1', plain, 11);
    expect(overheads.boundFor(model, 'u')).toBe(11 + 8);
    overheads.learn('dep_2', plain, 60);
    expect(overheads.boundFor(model, 'u')).toBe(60 + 8);
  });

  test('learns nothing from an engine that reports no counts', () => {
    const overheads = createTemplateOverheads();
    for (const { id } of deployments) overheads.learn(id, plain, 0);
    expect(overheads.boundFor({ deployments }, 'u')).toBeNull();
  });
});

describe('reservation of a short request', () => {
  let harness: GatewayHarness;
  beforeAll(async () => {
    const mock = deploymentFixture({ engine: 'mock', address: 'http://127.0.0.1:1' });
    harness = await createGatewayHarness({
      models: [modelFixture({ name: 'acme/chat', deployments: [mock] })],
    });
  });
  afterAll(() => harness.close());

  const reserve = async (content: string): Promise<bigint> => {
    const messages = [{ role: 'user', content }];
    const response = await harness.post('/v1/chat/completions', {
      model: 'acme/chat',
      messages,
      max_tokens: 1,
    });
    expect(response.status).toBe(200);
    await response.text();
    await harness.settled();
    return harness.leases.reserved.at(-1)?.amount ?? 0n;
  };
  const tokensOf = (nanoUsd: bigint): number =>
    Number((nanoUsd * 1_000_000n - PRICE.completion) / PRICE.prompt);

  test("is close to its cost once the engine's template overhead is known", async () => {
    expect(tokensOf(await reserve('Say hi'))).toBeGreaterThan(256);
    // The mock counts 4 tokens per message and one per four bytes: 6 for the first request.
    expect(tokensOf(await reserve('Say hi'))).toBeLessThan(6 + 6 + 8 + 2);
    expect(tokensOf(await reserve('x'.repeat(500)))).toBeLessThan(500 + 6 + 8 + 2);
  });
});
