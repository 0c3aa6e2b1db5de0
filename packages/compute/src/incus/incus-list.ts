import { isDriverError } from '../driver-error.ts';
import type { MachineView, OwnedMachines } from '../driver.ts';
import { instanceSchema, instancesOfHostSchema, instancesSchema, type IncusInstance } from './api/schemas.ts';
import { parse, type IncusClient } from './api/incus-client.ts';
import type { IncusCluster } from './incus-cluster.ts';
import { isOnline } from './incus-inventory.ts';
import { isOff, isUnreachable, viewOf } from './incus-instance.ts';
import type { IncusInstances } from './incus-instances.ts';
import { externalIdFrom } from './api/incus-names.ts';
import type { IncusSettings } from './incus-settings.ts';

/** Limit of concurrent reads of single instances. */
const maxConcurrentReads = 8;

interface ListDeps {
  readonly client: IncusClient;
  readonly cluster: IncusCluster;
  readonly instances: IncusInstances;
  readonly settings: IncusSettings;
}

/** Lists owned machines and the nodes that could not be listed. */
export async function listOwned(
  { client, cluster, instances, settings }: ListDeps,
  signal: AbortSignal,
): Promise<OwnedMachines> {
  const members = await cluster.members(signal);
  const offline = new Set(members.filter((member) => !isOnline(member)).map((member) => member.server_name));
  const request = {
    what: 'list all instances',
    path: '/1.0/instances',
    query: { ...client.everywhere, recursion: '2' },
  };
  // A supplier's daemon is one host with few machines; the limit rejects invented ones.
  const rows =
    settings.project === null
      ? await client.readList(request, instancesSchema, signal)
      : await client.read(request, instancesOfHostSchema, signal);
  const machines: MachineView[] = [];
  // An unparsable row fails the whole list, because skipping it would report its machine as deleted.
  const own = rows
    .map((row) => parse(instanceSchema, row, request.what))
    .filter((instance) => externalIdFrom(instance, settings.project) !== null);
  // Incus reports a machine as stopped until its start has ended.
  const underWay = own.some(isOff)
    ? await instances.namesUnderWay(client.everywhere, signal)
    : new Set<string>();
  const unanswered = own.filter(isUnreachable);
  for (const instance of own) if (!isUnreachable(instance)) await add(instance);
  for (let first = 0; first < unanswered.length; first += maxConcurrentReads) {
    await Promise.all(unanswered.slice(first, first + maxConcurrentReads).map(readInstance));
  }
  const isSeen = (view: MachineView): boolean => !offline.has(view.nodeName);
  return { machines: machines.filter(isSeen), unreachableNodes: [...offline].toSorted() };

  async function add(instance: IncusInstance): Promise<void> {
    const name = await cluster.nodeNameOf(instance, signal);
    const node = { name, address: await cluster.addressOf(name, signal) };
    const view = viewOf({ instance, isUnderWay: underWay.has(instance.name) }, node, settings);
    if (view !== null) machines.push(view);
  }

  /** A live member can fail its whole list because of one instance, so its instances are read one by one. */
  async function readInstance(row: IncusInstance): Promise<void> {
    const name = row.location ?? 'unknown';
    if (offline.has(name)) return;
    try {
      const path = `/1.0/instances/${row.name}`;
      const query = { project: row.project, recursion: '1' };
      const found = await client.find({ what: 'read the instance', path, query }, instanceSchema, signal);
      if (found === null) return;
      if (isUnreachable(found.value)) offline.add(name);
      else await add(found.value);
    } catch (error) {
      if (!isDriverError(error, 'unavailable') || signal.aborted) throw error;
      offline.add(name);
    }
  }
}
