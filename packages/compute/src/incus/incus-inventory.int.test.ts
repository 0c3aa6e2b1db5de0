import { readFileSync } from 'node:fs';
import { systemClock } from '@millrace/platform/clock';
import { eventually, testLog, useIncusCluster } from '@millrace/testing';
import { expect, it, onTestFinished } from 'vitest';
import type { InventoryNode } from '../driver.ts';
import { createIncusDriver, type IncusDriverOptions } from './index.ts';

// Uses the cluster that test files share, without changes.

async function nodesWith(
  changes: Partial<Pick<IncusDriverOptions, 'network' | 'storagePool' | 'instanceType'>>,
): Promise<readonly InventoryNode[]> {
  const cluster = await useIncusCluster();
  const driver = createIncusDriver({
    endpoints: cluster.members.map(({ url }) => url),
    tls: {
      clientCertificate: readFileSync(cluster.clientCertificateFile, 'utf8'),
      clientKey: readFileSync(cluster.clientKeyFile, 'utf8'),
      serverCertificate: readFileSync(cluster.serverCertificateFile, 'utf8'),
    },
    instanceType: 'container',
    network: cluster.network,
    storagePool: 'default',
    sshUser: 'ubuntu',
    clock: systemClock,
    log: testLog('incus'),
    ...changes,
  });
  onTestFinished(() => driver.close());
  const { nodes } = await driver.readInventory(AbortSignal.timeout(300_000));
  expect(nodes).toHaveLength(3);
  return nodes;
}

it('readInventory reports nodes as reachable if network and pool exist, for containers and VMs', async () => {
  for (const instanceType of ['container', 'virtual-machine'] as const) {
    // A member that does not respond during a stall is reported as unreachable until it responds again.
    const nodes = await eventually({ what: 'all members to respond' }, async () => {
      const seen = await nodesWith({ instanceType });
      return seen.every(({ reachable }) => reachable) && seen;
    });
    for (const node of nodes) expect(node).toMatchObject({ reachable: true, detail: null });
  }
});

it.each([
  ['a network that does not exist', { network: 'no-such-network' }, 'no-such-network'],
  // Incus also returns interfaces of the host by name.
  ['an interface of the host', { network: 'eth0' }, 'eth0'],
  ['a pool that does not exist', { storagePool: 'no-such-pool' }, 'no-such-pool'],
])(
  'readInventory reports every node as unreachable with %s in the settings, and names it',
  async (_title, changes, named) => {
    for (const node of await nodesWith(changes)) {
      expect(node).toMatchObject({ reachable: false, hardware: null });
      expect(node.detail).toContain(named);
    }
  },
);
