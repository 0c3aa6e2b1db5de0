import type { Logger } from '@millrace/platform/log';
import { isDriverError } from '../driver-error.ts';
import { aliasSchema, imageVolumeSchema, configSchema, operationsSchema } from './api/schemas.ts';
import type { IncusClient } from './api/incus-client.ts';
import type { IncusCluster } from './incus-cluster.ts';
import { IncusError } from './api/incus-errors.ts';
import type { IncusSettings } from './incus-settings.ts';

export interface PreparedImage {
  readonly fingerprint: string;
  /** Whether the member has a copy that is known to be complete. */
  readonly isWhole: boolean;
}

/**
 * Prevents machines from incomplete image copies. A member unpacks an image once and creates machines from that copy. A daemon
 * that dies while it unpacks leaves a partial copy that it treats as complete, and machines from it lack files. A copy is
 * therefore used only after a machine was created from it completely, which is recorded with the copy's creation time in the
 * cluster's settings or on the image. Other copies are deleted and unpacked again.
 */
export class IncusImages {
  readonly #client: IncusClient;
  readonly #cluster: IncusCluster;
  readonly #settings: IncusSettings;
  readonly #log: Logger;
  /** Creation times of complete copies by node and image, also if the daemon forbids to record them. */
  readonly #whole = new Map<string, string>();

  constructor(deps: {
    readonly client: IncusClient;
    readonly cluster: IncusCluster;
    readonly settings: IncusSettings;
    readonly log: Logger;
  }) {
    this.#client = deps.client;
    this.#cluster = deps.cluster;
    this.#settings = deps.settings;
    this.#log = deps.log;
  }

  /** Ensures a complete copy or none. Unless `isWhole`, the caller must call `confirm` after the machine is created. */
  async prepare(nodeName: string, alias: string, signal: AbortSignal): Promise<PreparedImage> {
    const fingerprint = await this.#fingerprint(alias, signal);
    const madeAt = await this.#copyMadeAt(nodeName, fingerprint, signal);
    if (madeAt === null) return { fingerprint, isWhole: false };
    if (await this.#isWhole(nodeName, fingerprint, madeAt, signal)) return { fingerprint, isWhole: true };
    // Another call may be unpacking it now; the daemon then makes this call wait.
    if (!(await this.#isMaking(nodeName, signal))) await this.#discard(nodeName, fingerprint, signal);
    return { fingerprint, isWhole: false };
  }

  /** A completely created machine proves that its copy is complete. */
  async confirm(nodeName: string, fingerprint: string, signal: AbortSignal): Promise<void> {
    const madeAt = await this.#copyMadeAt(nodeName, fingerprint, signal);
    if (madeAt === null || (await this.#isWhole(nodeName, fingerprint, madeAt, signal))) return;
    this.#whole.set(`${nodeName} ${fingerprint}`, madeAt);
    const { path, query, part, key } = this.#note(nodeName, fingerprint);
    const body = { [part]: { [key]: madeAt } };
    try {
      await this.#client.write(
        { what: 'record that an image is complete', method: 'PATCH', path, query, body },
        signal,
      );
    } catch (error) {
      // The supplier's certificate restrictions may forbid it; then each process finds out again.
      if (signal.aborted || !isDriverError(error)) throw error;
      this.#log.info(
        { nodeName, err: error },
        'could not record that an image is complete; only this process knows it',
      );
    }
  }

  /** Changing a member's settings would also require its roles. On a supplier's daemon only the project is writable. */
  #note(nodeName: string, fingerprint: string) {
    return this.#client.project === null
      ? ({
          path: '/1.0',
          query: {},
          part: 'config',
          key: `user.millrace.whole.${fingerprint.slice(0, 32)}.${nodeName}`,
        } as const)
      : ({
          path: `/1.0/images/${fingerprint}`,
          query: this.#client.shared,
          part: 'properties',
          key: `millrace.whole.${nodeName}`,
        } as const);
  }

  async #fingerprint(alias: string, signal: AbortSignal): Promise<string> {
    const path = `/1.0/images/aliases/${encodeURIComponent(alias)}`;
    const request = { what: 'find the image', path, query: this.#client.shared };
    const found = await this.#client.find(request, aliasSchema, signal);
    if (found !== null) return found.value.target;
    throw new IncusError('not_found', `The cluster has no image ${alias}.`);
  }

  #copyPath(fingerprint: string): string {
    return `/1.0/storage-pools/${encodeURIComponent(this.#settings.storagePool)}/volumes/image/${fingerprint}`;
  }

  async #copyMadeAt(nodeName: string, fingerprint: string, signal: AbortSignal): Promise<string | null> {
    const query = { ...this.#client.shared, target: await this.#cluster.target(nodeName, signal) };
    const request = { what: 'read the copy of the image', path: this.#copyPath(fingerprint), query };
    const found = await this.#client.find(request, imageVolumeSchema, signal);
    return found?.value.created_at ?? null;
  }

  async #isWhole(nodeName: string, image: string, madeAt: string, signal: AbortSignal): Promise<boolean> {
    const known = `${nodeName} ${image}`;
    if (this.#whole.get(known) === madeAt) return true;
    const { path, query, part, key } = this.#note(nodeName, image);
    const request = { what: 'read the records of complete images', path, query };
    const notes = await this.#client.read(request, configSchema, signal);
    if (notes[part]?.[key] !== madeAt) return false;
    this.#whole.set(known, madeAt);
    return true;
  }

  async #isMaking(nodeName: string, signal: AbortSignal): Promise<boolean> {
    const query = { recursion: '1', ...this.#client.everywhere };
    const request = { what: 'list operations', path: '/1.0/operations', query };
    const operations = await this.#client.read(request, operationsSchema, signal);
    const target = await this.#cluster.target(nodeName, signal);
    return (operations?.running ?? []).some(
      ({ description, location }) =>
        /^creating instance/i.test(description ?? '') && (target === undefined || location === target),
    );
  }

  async #discard(nodeName: string, fingerprint: string, signal: AbortSignal): Promise<void> {
    const query = { ...this.#client.shared, target: await this.#cluster.target(nodeName, signal) };
    this.#log.warn({ nodeName, fingerprint }, 'deleting an image copy that is not known to be complete');
    try {
      const path = this.#copyPath(fingerprint);
      const what = 'delete the copy of the image';
      await this.#client.write({ what, method: 'DELETE', path, query }, signal);
    } catch (error) {
      if (!isDriverError(error, 'not_found')) throw error;
    }
  }
}
