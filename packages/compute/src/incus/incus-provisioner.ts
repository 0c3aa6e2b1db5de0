import { isDriverError } from '../driver-error.ts';
import type { MachineSpec } from '../driver.ts';
import type { IncusNics } from './incus-nics.ts';
import type { IncusClient } from './api/incus-client.ts';
import type { IncusCluster } from './incus-cluster.ts';
import { IncusError } from './api/incus-errors.ts';
import type { IncusFiles } from './incus-files.ts';
import type { IncusImages, PreparedImage } from './incus-images.ts';
import {
  differenceFromSpec,
  instanceBody,
  isReady,
  isNeverStarted,
  configKeys,
  assertAccessNotCut,
} from './incus-instance.ts';
import { instanceLocation, type IncusInstances } from './incus-instances.ts';
import { isPort, portDevices } from './incus-ports.ts';
import { ensureProject } from './incus-project.ts';
import type { IncusSettings } from './incus-settings.ts';

/**
 * How long an instance without the ready mark and without an operation may exist before it counts as left by a crash. A live
 * creator writes files and mark within a tenth of a second.
 */
const abandonedAfterMs = 2_500;
const maxAttempts = 6;
const maxPolls = 100;

interface ProvisionerDeps {
  readonly client: IncusClient;
  readonly cluster: IncusCluster;
  readonly instances: IncusInstances;
  readonly files: IncusFiles;
  readonly images: IncusImages;
  readonly nics: IncusNics;
  readonly settings: IncusSettings;
}

/** The result of one round: the machine existed before, it is new and must be started, or retry. */
type CreateState = 'there' | 'new' | 'again';

/**
 * Creates a machine in steps that each check the state first: row and disk, files, ready mark, power. After a crash the next call
 * deletes and recreates an instance without the mark, or continues with one that has it. Of concurrent calls one creates it.
 */
export class IncusProvisioner {
  readonly #deps: ProvisionerDeps;

  constructor(deps: ProvisionerDeps) {
    this.#deps = deps;
  }

  async create(spec: MachineSpec, signal: AbortSignal): Promise<void> {
    const { client, settings, instances } = this.#deps;
    await this.#refuseUnknownNode(spec, signal);
    const project = ensureProject(client, settings, spec.orgId, signal);
    for (let round = 1; ; round += 1) {
      try {
        const found = await this.#find(spec, project, signal);
        if (found === 'new') return await this.#firstStart(spec, signal);
        if (found === 'there') return await this.#startAgain(spec, signal);
        if (round >= maxPolls)
          throw new IncusError(
            'busy',
            'The machine is created and deleted concurrently too often; retry later.',
          );
      } catch (error) {
        // Another call deleted the machine between two steps because it looked incomplete. Start again.
        const isLost = error instanceof IncusError && error.code === 404;
        if (!isLost || round >= maxAttempts || (await instances.find(spec, signal)) !== null) throw error;
      }
    }
  }

  /** Most machines are new, so the image is prepared while the instance is searched. */
  async #find(spec: MachineSpec, project: Promise<unknown>, signal: AbortSignal): Promise<CreateState> {
    const { instances, images, cluster } = this.#deps;
    const image = images.prepare(spec.nodeName, spec.image, signal);
    // An existing machine needs no image.
    image.catch(() => undefined);
    const [found] = await Promise.all([instances.find(spec, signal), project]);
    if (found === null) return this.#make(spec, await image, signal);
    const instance = found.value;
    assertAccessNotCut(instance.config);
    const difference = differenceFromSpec(instance, spec, await cluster.nodeNameOf(instance, signal));
    if (difference !== null) {
      throw new IncusError('conflict', `A machine with this id exists, but ${difference}.`);
    }
    if (isReady(instance)) return 'there';
    await this.#outlive(spec, signal);
    return 'again';
  }

  async #make(spec: MachineSpec, image: PreparedImage, signal: AbortSignal): Promise<CreateState> {
    const { instances, images } = this.#deps;
    try {
      await this.#post(spec, image.fingerprint, signal);
    } catch (error) {
      // Another call was first; the next round finds its instance.
      const isSecond = (error instanceof IncusError && error.isDuplicate) || isDriverError(error, 'busy');
      if (!isSecond) throw isDriverError(error, 'not_found') ? missingDependencyError(error) : error;
      await instances.refuseTaken(spec, signal);
      await instances.pause(signal);
      return 'again';
    }
    await Promise.all([
      image.isWhole ? undefined : images.confirm(spec.nodeName, image.fingerprint, signal),
      this.#fill(spec, image.fingerprint, signal),
    ]);
    await instances.patchConfig(spec, { [configKeys.ready]: '1' }, signal);
    return 'new';
  }

  async #post(spec: MachineSpec, fingerprint: string, signal: AbortSignal): Promise<void> {
    const { client, cluster, nics, settings } = this.#deps;
    const place = {
      fingerprint,
      listenAddress: await this.#listenAddress(spec.nodeName, signal),
      addresses: await nics.firstAddresses(spec.externalId, signal),
    };
    const query = {
      project: instanceLocation(client, spec).project,
      target: await cluster.target(spec.nodeName, signal),
    };
    const body = instanceBody(spec, place, settings);
    await client.write(
      { what: 'create the instance', method: 'POST', path: '/1.0/instances', query, body },
      signal,
    );
  }

  /** A VM reads everything from its cloud-init disk; only containers can be written from outside. */
  async #fill(spec: MachineSpec, fingerprint: string, signal: AbortSignal): Promise<void> {
    const { instances, files, settings } = this.#deps;
    if (settings.instanceType !== 'container') return;
    await instances.retryBusy(signal, () => files.prepare(spec, settings.sshUser, fingerprint, signal));
  }

  /** Waits for a concurrent creation; deletes an abandoned instance if it never ran. */
  async #outlive(spec: MachineSpec, signal: AbortSignal): Promise<void> {
    const { instances, client } = this.#deps;
    let idleSinceMs = client.clock.monotonicMs();
    for (;;) {
      const found = await instances.find(spec, signal);
      if (found === null || isReady(found.value)) return;
      if (await instances.isUnderWay(spec, signal)) idleSinceMs = client.clock.monotonicMs();
      if (client.clock.monotonicMs() - idleSinceMs >= abandonedAfterMs) {
        if (!isNeverStarted(found.value)) {
          throw new IncusError('conflict', 'A machine with this id has run, but its creation is incomplete.');
        }
        await instances.delete(spec, signal);
        return;
      }
      await instances.pause(signal);
    }
  }

  /**
   * A container is on long before Incus ends its start, which polls the helper of each port once a second, so the call does not
   * wait for it. Only a failed start reveals that another machine has the address: a VM's start is awaited; a container is then
   * off, and the caller uses `start`.
   */
  async #firstStart(spec: MachineSpec, signal: AbortSignal): Promise<void> {
    const { instances, nics, settings } = this.#deps;
    try {
      if (settings.instanceType === 'container') await instances.orderStart(spec, signal);
      else await nics.start(spec, signal);
    } catch (error) {
      // A machine that cannot be started even once is useless, and a refusal must leave nothing behind.
      const isFinal = isDriverError(error) && error.isFinal && error.kind !== 'not_found';
      if (isFinal) await instances.delete(spec, signal);
      throw error;
    }
  }

  async #startAgain(spec: MachineSpec, signal: AbortSignal): Promise<void> {
    await this.#deps.nics.start(spec, signal);
    await this.setPorts(spec, spec.ports, signal);
  }

  /** Replaces the set of ports; unchanged ports keep their connections. */
  async setPorts(
    machine: Pick<MachineSpec, 'externalId' | 'orgId'>,
    ports: MachineSpec['ports'],
    signal: AbortSignal,
  ): Promise<void> {
    const { instances, cluster, settings } = this.#deps;
    const instance = await instances.get(machine, signal);
    const nodeName = await cluster.nodeNameOf(instance, signal);
    const address = await this.#listenAddress(nodeName, signal);
    await instances.edit(
      machine,
      ({ config, devices }) => {
        if (ports.length > 0) assertAccessNotCut(config);
        const current = devices ?? {};
        const others = Object.entries(current).filter(([, device]) => !isPort(device));
        const opened = portDevices(current, ports, address, settings.instanceType);
        const next = { ...Object.fromEntries(others), ...opened };
        return isSame(current, next) ? null : { config: config ?? {}, devices: next };
      },
      signal,
    );
  }

  async #listenAddress(nodeName: string, signal: AbortSignal): Promise<string> {
    const { cluster, settings } = this.#deps;
    const address = settings.listenAddress ?? (await cluster.addressOf(nodeName, signal));
    if (address !== null) return address;
    throw new IncusError('not_found', `The cluster has no member ${nodeName} with an address.`);
  }

  async #refuseUnknownNode(spec: MachineSpec, signal: AbortSignal): Promise<void> {
    await this.#deps.cluster.target(spec.nodeName, signal);
    await this.#listenAddress(spec.nodeName, signal);
  }
}

/** A dependency of the machine does not exist, so further rounds are useless. */
function missingDependencyError(error: Error): IncusError {
  return new IncusError('not_found', error.message, { cause: error });
}

function isSame(
  left: Readonly<Record<string, Readonly<Record<string, string>>>>,
  right: Readonly<Record<string, Readonly<Record<string, string>>>>,
): boolean {
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...names].every((name) => {
    const [a, b] = [left[name] ?? {}, right[name] ?? {}];
    const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
    return [...keys].every((part) => a[part] === b[part]);
  });
}
