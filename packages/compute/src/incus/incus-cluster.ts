import { isDriverError } from '../driver-error.ts';
import type { Inventory, InventoryNode, NodeHardware } from '../driver.ts';
import {
  membersSchema,
  networkSchema,
  poolResourcesSchema,
  resourcesSchema,
  serverSchema,
  type IncusInstance,
  type IncusMember,
  type IncusServer,
} from './api/schemas.ts';
import type { IncusClient } from './api/incus-client.ts';
import { IncusError } from './api/incus-errors.ts';
import { hardwareOf, hostOf, isOnline, networkProblem, nodeOf } from './incus-inventory.ts';
import type { IncusDriverOptions } from './incus-settings.ts';

/** Enough to hide slow members, and few enough for the daemon that forwards the requests. */
const maxConcurrentReads = 8;

/** The members of a cluster or a single daemon, their addresses and hardware. */
export class IncusCluster {
  readonly #client: IncusClient;
  readonly #options: Pick<IncusDriverOptions, 'portAddresses' | 'storagePool' | 'network' | 'instanceType'>;
  /** Where a single daemon opens ports. */
  readonly #ownAddress: string;
  #server: IncusServer | null = null;
  #addresses: ReadonlyMap<string, string | null> = new Map();

  constructor(client: IncusClient, options: IncusDriverOptions) {
    this.#client = client;
    this.#options = options;
    this.#ownAddress =
      'endpoints' in options ? (hostOf(options.endpoints[0] ?? '') ?? '127.0.0.1') : '127.0.0.1';
  }

  async server(signal: AbortSignal): Promise<IncusServer> {
    if (this.#server !== null) return this.#server;
    const server = await this.#client.read({ what: 'identify itself', path: '/1.0' }, serverSchema, signal);
    if (server.auth !== 'trusted') {
      throw new IncusError(
        'refused',
        'Incus does not trust the client certificate; add it with `incus config trust`.',
      );
    }
    // Its other members would get access to tenants' machines and could report any location for them.
    if (this.#client.project !== null && server.environment.server_clustered) {
      throw new IncusError(
        'refused',
        'The daemon is part of a cluster. A supplier must run a standalone daemon.',
      );
    }
    this.#server = server.environment;
    return server.environment;
  }

  async members(signal: AbortSignal): Promise<readonly IncusMember[]> {
    const server = await this.server(signal);
    if (!server.server_clustered) {
      return [{ server_name: server.server_name, url: '', status: 'Online', message: 'Fully operational' }];
    }
    const request = { what: 'list the members', path: '/1.0/cluster/members', query: { recursion: '1' } };
    const members = await this.#client.read(request, membersSchema, signal);
    this.#addresses = new Map(members.map((member) => [member.server_name, hostOf(member.url)]));
    return members;
  }

  /** The `target` parameter for a member; a standalone daemon accepts none. */
  async target(nodeName: string, signal: AbortSignal): Promise<string | undefined> {
    const server = await this.server(signal);
    if (server.server_clustered) return nodeName;
    if (server.server_name === nodeName) return undefined;
    throw new IncusError(
      'not_found',
      `This daemon has only the node ${server.server_name}, not ${nodeName}.`,
    );
  }

  /** Members keep their addresses, so they are read again only for an unknown name. */
  async addressOf(nodeName: string, signal: AbortSignal): Promise<string | null> {
    const given = this.#options.portAddresses?.[nodeName];
    if (given !== undefined) return given;
    const server = await this.server(signal);
    if (!server.server_clustered) return this.#ownAddress;
    if (!this.#addresses.has(nodeName)) await this.members(signal);
    return this.#addresses.get(nodeName) ?? null;
  }

  /** The location of a standalone daemon is "none". */
  async nodeNameOf(instance: IncusInstance, signal: AbortSignal): Promise<string> {
    const server = await this.server(signal);
    return server.server_clustered ? (instance.location ?? 'unknown') : server.server_name;
  }

  async readInventory(signal: AbortSignal): Promise<Inventory> {
    const members = await this.members(signal);
    const server = await this.server(signal);
    const problem = await this.#networkProblem(signal);
    const nodes: InventoryNode[] = [];
    for (let first = 0; first < members.length; first += maxConcurrentReads) {
      const batch = members.slice(first, first + maxConcurrentReads);
      nodes.push(...(await Promise.all(batch.map((member) => this.#readNode(member, problem, signal)))));
    }
    return { engine: `${server.server} ${server.server_version}`, nodes };
  }

  /** Read once for all members, because Incus counts all users of a network for each read. */
  async #networkProblem(signal: AbortSignal): Promise<string | null> {
    const { network } = this.#options;
    const path = `/1.0/networks/${encodeURIComponent(network)}`;
    try {
      const request = { what: `read the network ${network}`, path, query: this.#client.shared };
      const found = await this.#client.find(request, networkSchema, signal);
      return networkProblem(this.#options, found?.value ?? null);
    } catch (error) {
      // A certificate that is restricted to projects cannot read networks, which proves nothing.
      if (isDriverError(error, 'refused')) return null;
      throw error;
    }
  }

  async #readNode(member: IncusMember, problem: string | null, signal: AbortSignal): Promise<InventoryNode> {
    const address = await this.addressOf(member.server_name, signal);
    const reported = { name: member.server_name, status: member.status, message: member.message };
    if (!isOnline(member) || problem !== null) return nodeOf(reported, address, null, problem);
    try {
      return nodeOf(reported, address, await this.#readHardware(member, signal), null);
    } catch (error) {
      if (signal.aborted) throw error;
      return nodeOf(reported, address, null, error instanceof Error ? error.message : String(error));
    }
  }

  async #readHardware(member: IncusMember, signal: AbortSignal): Promise<NodeHardware> {
    const query = { target: await this.target(member.server_name, signal) };
    const { storagePool } = this.#options;
    const pool = `/1.0/storage-pools/${encodeURIComponent(storagePool)}/resources`;
    const [resources, { space }] = await Promise.all([
      this.#client.read(
        { what: 'read the hardware', path: '/1.0/resources', query },
        resourcesSchema,
        signal,
      ),
      this.#client.read(
        { what: `read the pool ${storagePool}`, path: pool, query },
        poolResourcesSchema,
        signal,
      ),
    ]);
    return hardwareOf(resources, space.total, member.config);
  }
}
