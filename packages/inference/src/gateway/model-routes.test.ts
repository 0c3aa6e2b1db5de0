import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createGatewayHarness,
  deploymentFixture,
  modelFixture,
  type GatewayHarness,
} from './gateway.fixture.ts';

let world: GatewayHarness;
beforeAll(async () => {
  const address = 'http://127.0.0.1:1';
  world = await createGatewayHarness({
    models: [
      modelFixture({ name: 'acme/served', deployments: [deploymentFixture({ address })] }),
      modelFixture({ name: 'acme/nowhere', deployments: [] }),
      modelFixture({ name: 'acme/drained', deployments: [deploymentFixture({ address, weight: 0 })] }),
      modelFixture({ name: 'acme/stood-in', deployments: [], fallbacks: ['acme/served'] }),
    ],
  });
});
afterAll(() => world.close());

describe('a live model without a deployment', () => {
  test('is not offered, unless another model stands in for it', async () => {
    const answer = await fetch(`${world.url}/v1/models`, {
      headers: { authorization: `Bearer ${world.key}` },
    });
    const { data } = (await answer.json()) as { data: { id: string }[] };
    expect(data.map(({ id }) => id).toSorted()).toEqual(['acme/served', 'acme/stood-in']);
  });

  test.each(['acme/nowhere', 'acme/drained'])('%s is refused before money is reserved', async (model) => {
    const messages = [{ role: 'user', content: 'Hi' }];
    const answer = await world.post('/v1/chat/completions', { model, messages });
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '30']);
    expect(await answer.json()).toMatchObject({ error: { code: 'model_not_available' } });
    expect(world.purse.reserved).toEqual([]);
  });
});
