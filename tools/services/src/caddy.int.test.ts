import { expect, test } from 'vitest';

import { down, ensureUp, killNode, type CaddyEndpoints } from './index.ts';
import { createPrivateSite, states } from './private-site.ts';

async function load({ adminUrl, listen }: CaddyEndpoints, body: string): Promise<void> {
  const config = {
    admin: { listen: new URL(adminUrl).host },
    apps: {
      http: {
        servers: {
          test: { listen: [listen], routes: [{ handle: [{ handler: 'static_response', body }] }] },
        },
      },
    },
  };
  const headers = { 'content-type': 'application/json', origin: adminUrl };
  const response = await fetch(`${adminUrl}/load`, { method: 'POST', headers, body: JSON.stringify(config) });
  expect(response.status, await response.text()).toBe(200);
}

test('Caddy starts with `up` and keeps its loaded configuration over a crash', async () => {
  const place = await createPrivateSite();
  const { caddy } = await ensureUp(['caddy'], place);
  if (caddy === undefined) throw new Error('it has no address');
  const read = async (): Promise<string> => (await fetch(`http://${caddy.listen}/`)).text();
  await load(caddy, 'as it was');
  expect(await read()).toBe('as it was');

  await killNode('caddy', place);
  expect(await states(place)).toMatchObject({ caddy: 'dead' });
  await ensureUp(['caddy'], place);
  expect(await read()).toBe('as it was');

  expect(await down([], place)).toBe(1);
  await expect(read()).rejects.toThrow('fetch failed');
});
