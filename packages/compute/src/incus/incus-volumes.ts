import { isDriverError } from '../driver-error.ts';
import type { DriverVolume, DriverVolumes, MachineRef } from '../driver.ts';
import { checkRef } from '../check-spec.ts';
import { volumeSchema } from './api/schemas.ts';
import type { IncusClient } from './api/incus-client.ts';
import type { IncusCluster } from './incus-cluster.ts';
import { IncusError } from './api/incus-errors.ts';
import { configKeys } from './incus-instance.ts';
import type { IncusInstances } from './incus-instances.ts';
import { projectName, volumeName } from './api/incus-names.ts';
import { ensureProject } from './incus-project.ts';
import type { IncusSettings } from './incus-settings.ts';

const mountPattern = /^(?:\/[A-Za-z0-9._-]+){1,16}$/;

/** Disks of a member's pool that outlive a machine. Only machines on the same member can attach them. */
export class IncusVolumes implements DriverVolumes {
  readonly #client: IncusClient;
  readonly #cluster: IncusCluster;
  readonly #instances: IncusInstances;
  readonly #settings: IncusSettings;

  constructor(deps: {
    readonly client: IncusClient;
    readonly cluster: IncusCluster;
    readonly instances: IncusInstances;
    readonly settings: IncusSettings;
  }) {
    this.#client = deps.client;
    this.#cluster = deps.cluster;
    this.#instances = deps.instances;
    this.#settings = deps.settings;
  }

  async create(volume: DriverVolume, signal: AbortSignal): Promise<void> {
    const name = volumeName(volume);
    if (!Number.isSafeInteger(volume.sizeGb) || volume.sizeGb < 1 || volume.sizeGb > 1_048_576) {
      throw new IncusError('refused', 'The size of a volume must be 1 to 1048576 GB.');
    }
    const project = await ensureProject(this.#client, this.#settings, volume.orgId, signal);
    const query = { project, target: await this.#cluster.target(volume.nodeName, signal) };
    const size = `${volume.sizeGb}GiB`;
    const body = {
      name,
      type: 'custom',
      content_type: 'filesystem',
      config: { size, [configKeys.owner]: this.#settings.owner },
    };
    try {
      await this.#client.write(
        { what: 'create the volume', method: 'POST', path: `${this.#pool()}/volumes/custom`, query, body },
        signal,
      );
    } catch (error) {
      if (!(error instanceof IncusError) || !error.isDuplicate) throw error;
      const found = await this.#find(volume, signal);
      if (found === size) return;
      throw new IncusError(
        'conflict',
        `A volume with this id exists, but not with this size on this node: found ${found ?? 'none'}.`,
      );
    }
  }

  async attach(machine: MachineRef, volume: DriverVolume, path: string, signal: AbortSignal): Promise<void> {
    checkRef(machine);
    if (!mountPattern.test(path) || path.includes('..')) {
      throw new IncusError(
        'refused',
        'The mount path of a volume must be absolute and consist of plain names.',
      );
    }
    const source = volumeName(volume);
    if (machine.orgId !== volume.orgId)
      throw new IncusError('not_found', 'The organisation has no such volume.');
    if ((await this.#find(volume, signal)) === null)
      throw new IncusError('not_found', 'The volume does not exist on this node.');
    const device = { type: 'disk', pool: this.#settings.storagePool, source, path };
    await this.#instances.edit(
      machine,
      ({ config, devices }) => {
        const current = devices ?? {};
        if (current[deviceName(volume)]?.['path'] === path) return null;
        return { config: config ?? {}, devices: { ...current, [deviceName(volume)]: device } };
      },
      signal,
    );
  }

  async detach(machine: MachineRef, volume: DriverVolume, signal: AbortSignal): Promise<void> {
    checkRef(machine);
    volumeName(volume);
    try {
      await this.#instances.edit(
        machine,
        ({ config, devices }) => {
          const { [deviceName(volume)]: attached, ...others } = devices ?? {};
          return attached === undefined ? null : { config: config ?? {}, devices: others };
        },
        signal,
      );
    } catch (error) {
      // A deleted machine has no volumes attached.
      if (!isDriverError(error, 'not_found')) throw error;
    }
  }

  async delete(volume: DriverVolume, signal: AbortSignal): Promise<void> {
    const path = `${this.#pool()}/volumes/custom/${volumeName(volume)}`;
    const target = await this.#cluster.target(volume.nodeName, signal);
    const query = { project: this.#project(volume), target };
    try {
      await this.#client.write({ what: 'delete the volume', method: 'DELETE', path, query }, signal);
    } catch (error) {
      if (!isDriverError(error, 'not_found')) throw error;
    }
  }

  #project({ orgId }: DriverVolume): string {
    const own = projectName(orgId);
    return this.#settings.project ?? own;
  }

  #pool(): string {
    return `/1.0/storage-pools/${encodeURIComponent(this.#settings.storagePool)}`;
  }

  /** The size as Incus stores it; null if the volume does not exist on that node. */
  async #find(volume: DriverVolume, signal: AbortSignal): Promise<string | null> {
    const path = `${this.#pool()}/volumes/custom/${volumeName(volume)}`;
    const target = await this.#cluster.target(volume.nodeName, signal);
    const query = { project: this.#project(volume), target };
    const found = await this.#client.find({ what: 'read the volume', path, query }, volumeSchema, signal);
    return found?.value.config?.['size'] ?? null;
  }
}

function deviceName(volume: DriverVolume): string {
  return `vol-${volume.externalId}`;
}
