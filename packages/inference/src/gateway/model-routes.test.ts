import { afterAll, describe, expect, test } from 'vitest';
import { createGatewayHarness, deploymentFixture, modelFixture } from './gateway.fixture.ts';

const address = 'http://127.0.0.1:1';
const harness = await createGatewayHarness({
  models: [
    modelFixture({ name: 'acme/served', deployments: [deploymentFixture({ address })] }),
    modelFixture({ name: 'acme/nowhere', deployments: [] }),
    modelFixture({ name: 'acme/drained', deployments: [deploymentFixture({ address, weight: 0 })] }),
    modelFixture({ name: 'acme/stood-in', deployments: [], fallbacks: ['acme/served'] }),
  ],
});
afterAll(() => harness.close());

describe('live model without a deployment', () => {
  test('is not listed unless it has a fallback with a deployment', async () => {
    const response = await fetch(`${harness.url}/v1/models`, {
      headers: { authorization: `Bearer ${harness.key}` },
    });
    const { data } = (await response.json()) as { data: { id: string }[] };
    expect(data.map(({ id }) => id).toSorted()).toEqual(['acme/served', 'acme/stood-in']);
  });

  test.each(['acme/nowhere', 'acme/drained'])('%s is refused before credit is reserved', async (model) => {
    const messages = [{ role: 'user', content: 'Hi' }];
    const response = await harness.post('/v1/chat/completions', { model, messages });
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '30']);
    expect(await response.json()).toMatchObject({ error: { code: 'model_not_available' } });
    expect(harness.leases.reserved).toEqual([]);
  });
});
