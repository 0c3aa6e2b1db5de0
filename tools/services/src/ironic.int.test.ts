import { expect, test } from 'vitest';

import { down, ensureUp, killNode, type IronicEndpoints } from './index.ts';
import { isPortFree } from './ports.ts';
import { pidOf, createPrivateSite, states } from './private-site.ts';
import { identify } from './processes.ts';

async function send(
  { url, username, password }: IronicEndpoints,
  method: string,
  target: string,
  body?: unknown,
): Promise<{ status: number; json: Record<string, unknown> }> {
  const response = await fetch(`${url}${target}`, {
    method,
    headers: {
      authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
      'content-type': 'application/json',
      'x-openstack-ironic-api-version': '1.82',
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, json: (await response.json()) as Record<string, unknown> };
}

test('Ironic: registers nodes, requires its password, keeps its data over a crash, and leaves no process after `down`', async () => {
  const place = await createPrivateSite();
  const { ironic } = await ensureUp(['ironic'], place);
  if (ironic === undefined) throw new Error('it has no address');
  expect(await states(place)).toMatchObject({ ironic: 'ready', 'ironic-files': 'ready' });

  expect((await send({ ...ironic, password: 'wrong' }, 'GET', '/v1/nodes')).status).toBe(401);
  const drivers = await send(ironic, 'GET', '/v1/drivers');
  expect(drivers.json['drivers']).toMatchObject([{ name: 'fake-hardware' }, { name: 'redfish' }]);
  const made = await send(ironic, 'POST', '/v1/nodes', { name: 'kept', driver: 'fake-hardware' });
  expect(made.status).toBe(201);

  await killNode('ironic', place);
  expect(await states(place)).toMatchObject({ ironic: 'dead', 'ironic-files': 'ready' });
  // The password is the same after a restart.
  expect((await ensureUp(['ironic'], place)).ironic).toEqual(ironic);
  expect((await send(ironic, 'GET', '/v1/nodes/kept')).json['uuid']).toBe(made.json['uuid']);

  const pids = await Promise.all(['ironic', 'ironic-files'].map((node) => pidOf(place, node)));
  expect(await down([], place)).toBe(2);
  expect(pids.map(identify)).toEqual([null, null]);
  expect(await isPortFree(place.portBase + 88)).toBe(true);
});
