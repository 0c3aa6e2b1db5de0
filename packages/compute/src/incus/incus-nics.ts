import { isDriverError } from '../driver-error.ts';
import type { MachineRef } from '../driver.ts';
import {
  addressesForMac,
  addressesOn,
  addressIn,
  nicAddresses,
  hasAddresses,
  type NicAddresses,
} from './incus-addresses.ts';
import {
  instanceSchema,
  instancesSchema,
  networkSchema,
  projectSchema,
  type IncusInstance,
} from './api/schemas.ts';
import { parse, type IncusClient } from './api/incus-client.ts';
import type { IncusCluster } from './incus-cluster.ts';
import { IncusError } from './api/incus-errors.ts';
import { hasRun, isFiltered, isOff, macOf, networkOf, withAddresses } from './incus-instance.ts';
import type { IncusInstances } from './incus-instances.ts';
import { networkProblem } from './incus-inventory.ts';
import type { IncusSettings } from './incus-settings.ts';

interface NicDeps {
  readonly client: IncusClient;
  readonly cluster: IncusCluster;
  readonly instances: IncusInstances;
  readonly settings: IncusSettings;
}

/** Incus refuses to start a machine whose address or MAC another nic of the bridge has; it does not check at creation. */
const addressInUsePattern = /already (?:defined|in use|assigned|allocated)[^:]{0,256} another/i;
const attempts = 8;
/** Project settings in which `join.sh` stores the subnets of the network. */
const subnetKeys = { ipv4: 'user.millrace.network-ipv4', ipv6: 'user.millrace.network-ipv6' } as const;

/**
 * Assigns addresses to machines. They are stored only in the instance's device. The first choice follows from the machine id
 * without a request about other machines; in the rare case of a conflict Incus refuses the first start, and the machine gets a
 * free address.
 */
export class IncusNics {
  readonly #deps: NicDeps;

  constructor(deps: NicDeps) {
    this.#deps = deps;
  }

  firstAddresses(externalId: string, signal: AbortSignal): Promise<NicAddresses> {
    return this.#choose(externalId, 1, new Set(), signal);
  }

  /**
   * Gives the nic of a machine that is off an address and filters if an older version created it without. It keeps its MAC, which
   * the operating system may have stored. If no address is available, the nic stays unchanged, because the machine must start;
   * the cluster comparison counts it.
   */
  async addFilters(machine: MachineRef, instance: IncusInstance, signal: AbortSignal): Promise<void> {
    const { instances } = this.#deps;
    if (!this.needsFilters(instance)) return;
    let addresses: NicAddresses;
    try {
      const taken = new Set(await this.#takenBeside(instance, signal));
      addresses = await this.#choose(machine.externalId, 1, taken, signal);
    } catch (error) {
      if (isDriverError(error, 'refused') || isDriverError(error, 'no_capacity')) return;
      throw error;
    }
    const { ipv6: network6 } = await this.#subnets(signal);
    await instances.edit(
      machine,
      (found) => {
        if (!this.needsFilters(found) || !isOff(found)) return null;
        const mac = hasRun(found) ? macOf(found) : null;
        const given = mac === null ? addresses : addressesForMac(mac, addresses.ipv4, network6);
        return { config: found.config ?? {}, devices: withAddresses(found.devices ?? {}, given) };
      },
      signal,
    );
  }

  /** Nics on other networks stay unchanged, because their subnets are unknown. */
  needsFilters(instance: IncusInstance): boolean {
    const { network } = this.#deps.settings;
    return !isFiltered(instance) && networkOf(instance) === network;
  }

  /**
   * Powers on. A machine that never ran gets another address if its own is in use. A machine that ran keeps its address, which
   * the operating system may have stored; only a machine being created can conflict, and only briefly.
   */
  async start(machine: MachineRef, signal: AbortSignal): Promise<void> {
    const { instances } = this.#deps;
    const tried = new Set<string>();
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await instances.start(machine, signal);
      } catch (error) {
        const isTaken = isDriverError(error) && addressInUsePattern.test(error.message);
        if (!isTaken || attempt >= attempts) throw error;
      }
      const instance = await instances.get(machine, signal);
      if (hasRun(instance)) await instances.pause(signal);
      else await this.#moveToOther(machine, instance, { attempt, tried }, signal);
    }
  }

  async #moveToOther(
    machine: MachineRef,
    instance: IncusInstance,
    { attempt, tried }: { readonly attempt: number; readonly tried: Set<string> },
    signal: AbortSignal,
  ): Promise<void> {
    const { instances, settings } = this.#deps;
    const own = addressesOn(settings.network, instance.devices ?? {});
    // The network may also have instances that this certificate cannot see.
    for (const address of own) tried.add(address);
    const taken = new Set([...tried, ...(await this.#takenBeside(instance, signal))]);
    const addresses = await this.#choose(machine.externalId, attempt + 1, taken, signal);
    await instances.edit(
      machine,
      ({ config, devices }) => ({ config: config ?? {}, devices: withAddresses(devices ?? {}, addresses) }),
      signal,
    );
  }

  /** Each node has its own bridge, so only machines on the same node count. */
  async #takenBeside(instance: IncusInstance, signal: AbortSignal): Promise<readonly string[]> {
    const { client, settings } = this.#deps;
    const request = {
      what: 'list the addresses of the node',
      path: '/1.0/instances',
      query: { ...client.everywhere, recursion: '1' },
    };
    const rows = await client.readList(request, instancesSchema, signal);
    return rows
      .map((row) => parse(instanceSchema, row, request.what))
      .filter(({ location }) => location === instance.location)
      .flatMap(({ devices }) => addressesOn(settings.network, devices ?? {}));
  }

  async #choose(
    externalId: string,
    attempt: number,
    taken: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<NicAddresses> {
    const subnets = await this.#subnets(signal);
    const ipv4 = addressIn(subnets.ipv4, externalId, attempt, taken);
    if (ipv4 !== null) return nicAddresses(ipv4, subnets.ipv6);
    throw new IncusError('no_capacity', `The network ${this.#deps.settings.network} has no free address.`);
  }

  /**
   * Incus hides networks from certificates that are restricted to a project, so `join.sh` stores the subnets in the project. With
   * wrong ones there, Incus refuses to start the machines.
   */
  async #subnets(signal: AbortSignal): Promise<{ readonly ipv4: string; readonly ipv6: string | undefined }> {
    const { client, settings } = this.#deps;
    if (settings.project === null) {
      const path = `/1.0/networks/${encodeURIComponent(settings.network)}`;
      const network = await client.read({ what: 'read the network', path }, networkSchema, signal);
      const problem = networkProblem(settings, network);
      if (problem !== null) throw new IncusError('refused', problem);
      return { ipv4: network.config?.['ipv4.address'] ?? '', ipv6: network.config?.['ipv6.address'] };
    }
    const path = `/1.0/projects/${encodeURIComponent(settings.project)}`;
    const { config } = await client.read({ what: 'read the project', path }, projectSchema, signal);
    const ipv4 = config?.[subnetKeys.ipv4] ?? '';
    if (hasAddresses(ipv4)) return { ipv4, ipv6: config?.[subnetKeys.ipv6] };
    throw new IncusError(
      'refused',
      `The project ${settings.project} has no valid IPv4 subnet of its network. The supplier must run join.sh again.`,
    );
  }
}
