import { expect, test } from 'vitest';

import { down, ensureUp, killNode, readEndpoints, up } from './index.ts';
import { elapsedMs, eventually } from './time.ts';
import { pidOf, createPrivateSite, states } from './private-site.ts';

const both = ['nats', 'restate'];
const members = ['nats-1', 'nats-2', 'nats-3', 'restate-1', 'restate-2', 'restate-3'];

function all(state: string): Record<string, string> {
  return Object.fromEntries(members.map((node) => [node, state]));
}

test('`up --cluster` forms three NATS and three Restate nodes, `status` reports a killed node as dead, and `up` restarts it', async () => {
  const place = await createPrivateSite();
  const started = elapsedMs();
  const endpoints = await ensureUp(both, { ...place, topology: 'cluster' });
  expect(elapsedMs() - started).toBeLessThan(120_000);
  expect(endpoints.natsUrls).toHaveLength(3);
  expect(endpoints.restate.ingressUrls).toHaveLength(3);
  expect(await states(place)).toMatchObject(all('ready'));

  const secondStarted = elapsedMs();
  const second = await up(both, place);
  expect(elapsedMs() - secondStarted).toBeLessThan(10_000);
  expect(second.map((outcome) => outcome.result)).toEqual(['already', 'already']);

  for (const victim of ['nats-2', 'restate-1']) {
    await killNode(victim, place);
    expect((await states(place))[victim]).toBe('dead');
    // Two of three are a majority, so the others become ready again after a leader election.
    await eventually({ timeoutMs: 30_000, intervalMs: 250 }, async () => {
      expect(await states(place)).toMatchObject({ ...all('ready'), [victim]: 'dead' });
    });
    await ensureUp(both, place);
    expect(await states(place)).toMatchObject(all('ready'));
  }
});

test('`up --cluster` after `up` starts the cluster beside the single node and stops nothing', async () => {
  const place = await createPrivateSite();
  await ensureUp(['nats'], place);
  const pid = await pidOf(place, 'nats');
  await ensureUp(['nats'], { ...place, topology: 'cluster' });
  expect(await states(place)).toMatchObject({
    nats: 'ready',
    'nats-1': 'ready',
    'nats-2': 'ready',
    'nats-3': 'ready',
  });
  expect(await pidOf(place, 'nats')).toBe(pid);
  expect(readEndpoints(place.stateDir).natsUrls).toHaveLength(3);
  expect(readEndpoints(place.stateDir, 'single').natsUrls).toHaveLength(1);

  expect(await down([], { ...place, topology: 'cluster' })).toBe(3);
  await ensureUp(['nats'], { ...place, topology: 'single' });
  expect(await pidOf(place, 'nats')).toBe(pid);
  expect(readEndpoints(place.stateDir).natsUrls).toHaveLength(1);
});
