import type { Logger } from '@millrace/platform/log';
import { isDriverError } from '../driver-error.ts';
import { aliasSchema, imageVolumeSchema, configSchema, operationsSchema } from './api/schemas.ts';
import type { IncusClient } from './api/incus-client.ts';
import type { IncusCluster } from './incus-cluster.ts';
import { IncusError } from './api/incus-errors.ts';
import type { IncusSettings } from './incus-settings.ts';

export interface PreparedImage {
  readonly fingerprint: string;
  /** Whether the member has a copy of it that is known to be whole. */
  readonly isWhole: boolean;
}

/**
 * A member unpacks an image once and makes machines from that copy. A daemon that dies while it unpacks leaves half a copy
 * which it takes for a whole one ever after, and every machine made from it lacks files: if the tenant is lucky, so many
 * that it does not start. So a copy is used only if a machine was made from it to the end, which is noted in the cluster's
 * settings, or on the image itself, by the time at which the copy was made; another is thrown away, and the next machine unpacks the image anew.
 */
export class IncusImages {
  readonly #client: IncusClient;
  readonly #cluster: IncusCluster;
  readonly #settings: IncusSettings;
  readonly #log: Logger;
  /** What is noted, or would be if we were allowed to: by node and image, when the copy was made. */
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

  /**
   * Before a machine is made: nothing but a whole copy, or none, is there. Unless it is known to be whole, it is to be
   * confirmed after the machine was made.
   */
  async prepare(nodeName: string, alias: string, signal: AbortSignal): Promise<PreparedImage> {
    const fingerprint = await this.#fingerprint(alias, signal);
    const madeAt = await this.#copyMadeAt(nodeName, fingerprint, signal);
    if (madeAt === null) return { fingerprint, isWhole: false };
    if (await this.#isWhole(nodeName, fingerprint, madeAt, signal)) return { fingerprint, isWhole: true };
    // It may be unpacked right now by another call, whose machine we then wait for inside the daemon.
    if (!(await this.#isMaking(nodeName, signal))) await this.#discard(nodeName, fingerprint, signal);
    return { fingerprint, isWhole: false };
  }

  /** After a machine was made to the end: the copy that it was made from is whole. */
  async confirm(nodeName: string, fingerprint: string, signal: AbortSignal): Promise<void> {
    const madeAt = await this.#copyMadeAt(nodeName, fingerprint, signal);
    if (madeAt === null || (await this.#isWhole(nodeName, fingerprint, madeAt, signal))) return;
    this.#whole.set(`${nodeName} ${fingerprint}`, madeAt);
    const { path, query, part, key } = this.#note(nodeName, fingerprint);
    const body = { [part]: { [key]: madeAt } };
    try {
      await this.#client.write(
        { what: 'note that an image is whole', method: 'PATCH', path, query, body },
        signal,
      );
    } catch (error) {
      // Whoever limited our certificate may have forbidden it; then each process finds out for itself.
      if (signal.aborted || !isDriverError(error)) throw error;
      this.#log.info({ nodeName, err: error }, 'that an image is whole is remembered by this process alone');
    }
  }

  /**
   * Where it is noted that a copy is whole: in the settings of the cluster, since one of a member cannot be changed
   * without saying anew which roles it has; in somebody else's daemon on the image itself, which is in our project.
   */
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
    const request = { what: 'look at the copy of the image', path: this.#copyPath(fingerprint), query };
    const found = await this.#client.find(request, imageVolumeSchema, signal);
    return found?.value.created_at ?? null;
  }

  async #isWhole(nodeName: string, image: string, madeAt: string, signal: AbortSignal): Promise<boolean> {
    const known = `${nodeName} ${image}`;
    if (this.#whole.get(known) === madeAt) return true;
    const { path, query, part, key } = this.#note(nodeName, image);
    const request = { what: 'read the notes on images', path, query };
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
    this.#log.warn({ nodeName, fingerprint }, 'a copy of an image that nobody vouches for is thrown away');
    try {
      const path = this.#copyPath(fingerprint);
      const what = 'throw away the copy of the image';
      await this.#client.write({ what, method: 'DELETE', path, query }, signal);
    } catch (error) {
      if (!isDriverError(error, 'not_found')) throw error;
    }
  }
}
