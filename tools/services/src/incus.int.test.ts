import { existsSync, readdirSync, readFileSync } from 'node:fs';

import { expect, test } from 'vitest';

import { incusCall } from './engines/incus-api.ts';
import { mountsBelow } from './engines/incus-leftovers.ts';
import { bridgeOf } from './engines/incus.ts';
import { down, ensureUp, killNode, type IncusEndpoints } from './index.ts';
import { runOrThrow } from './processes.ts';
import { isRoot } from './site.ts';
import { eventually } from './time.ts';
import { createPrivateSite, states } from './private-site.ts';

function tlsAddress(endpoints: IncusEndpoints) {
  const { hostname, port } = new URL(endpoints.url);
  return {
    host: hostname,
    port: Number(port),
    cert: readFileSync(endpoints.clientCertificateFile, 'utf8'),
    key: readFileSync(endpoints.clientKeyFile, 'utf8'),
    ca: readFileSync(endpoints.serverCertificateFile, 'utf8'),
  };
}

async function incusOf(place: { stateDir: string; portBase: number }): Promise<IncusEndpoints> {
  const { incus } = await ensureUp(['incus'], place);
  if (incus === undefined) throw new Error('Incus has no endpoint');
  return incus;
}

/** The address that the container got by DHCP. */
function addressOf(state: unknown): string {
  const { network } = state as {
    network: Record<string, { addresses: { family: string; address: string }[] }> | null;
  };
  const found = network?.['eth0']?.addresses.find((entry) => entry.family === 'inet');
  if (found === undefined) throw new Error('the container has no address yet');
  return found.address;
}

test('Incus: runs a container over TLS, survives a kill, and leaves no bridge, mount or process', async () => {
  const place = await createPrivateSite();
  if (!isRoot()) {
    await expect(ensureUp(['incus'], place)).rejects.toThrow(/needs root/u);
    return;
  }
  // As left by a daemon that was killed together with its files: only the kernel knows the bridge.
  await runOrThrow('ip', ['link', 'add', bridgeOf(place.portBase).name, 'type', 'bridge']);
  const address = tlsAddress(await incusOf(place));
  await incusCall(address, 'POST', '/1.0/instances', {
    name: 'probe',
    type: 'container',
    source: { type: 'image', alias: 'busybox' },
    start: true,
  });
  const page = await eventually({ timeoutMs: 120_000, intervalMs: 100 }, async () => {
    const state = await incusCall(address, 'GET', '/1.0/instances/probe/state');
    const response = await fetch(`http://${addressOf(state)}/`, { signal: AbortSignal.timeout(2000) });
    return response.text();
  });
  expect(page).toBe('busybox\n');

  await killNode('incus', place);
  expect(await states(place)).toMatchObject({ incus: 'dead' });
  await ensureUp(['incus'], place);
  expect(await incusCall(address, 'GET', '/1.0/instances/probe/state')).toMatchObject({ status: 'Running' });

  // Hardest case for `down`: the daemon dies with a running container, and no `up` comes in between.
  const cards = readdirSync(`/sys/class/net/${bridgeOf(place.portBase).name}/brif`);
  expect(cards).toHaveLength(1);
  await killNode('incus', place);
  await down([], place);
  expect(cards.filter((card) => existsSync(`/sys/class/net/${card}`))).toEqual([]);
  expect(existsSync(`/sys/class/net/${bridgeOf(place.portBase).name}`)).toBe(false);
  expect(mountsBelow(readFileSync('/proc/self/mountinfo', 'utf8'), place.stateDir)).toEqual([]);
});
