import { msToSecondsRoundUp } from '@millrace/platform/money';
import { isDriverError } from '../driver-error.ts';
import type { MachineRef } from '../driver.ts';
import { instanceSchema, operationsSchema, type IncusDevices, type IncusInstance } from './api/schemas.ts';
import type { ProjectScope, WithEtag, IncusClient } from './api/incus-client.ts';
import { IncusError, preconditionFailed } from './api/incus-errors.ts';
import { isOff, isOn, isUnreachable, configKeys, type ObservedInstance } from './incus-instance.ts';
import { instanceName, projectName } from './api/incus-names.ts';

const busyTimeoutMs = 20_000;
const operationPollMs = 150;
const editAttempts = 20;

export interface InstanceLocation {
  readonly path: string;
  readonly query: { readonly project: string };
  readonly name: string;
  readonly project: string;
}

export function instanceLocation(client: Pick<IncusClient, 'project'>, ref: MachineRef): InstanceLocation {
  const name = instanceName(ref.externalId);
  const own = projectName(ref.orgId);
  const project = client.project ?? own;
  return { name, project, path: `/1.0/instances/${name}`, query: { project } };
}

/** Config and devices, which change together. */
export interface InstanceEdit {
  readonly config: Readonly<Record<string, string>>;
  readonly devices: IncusDevices;
}

type PowerAction = 'start' | 'stop' | 'restart';

/** Idempotent operations on one instance. */
export class IncusInstances {
  readonly #client: IncusClient;

  constructor(client: IncusClient) {
    this.#client = client;
  }

  /** Reads instance and state in one request. Null only if the cluster's database has no such row. */
  async find(ref: MachineRef, signal: AbortSignal): Promise<WithEtag<IncusInstance> | null> {
    const { path, query } = instanceLocation(this.#client, ref);
    const request = { what: 'read the instance', path, query: { ...query, recursion: '1' } };
    const found = await this.retryBusy(signal, () => this.#client.find(request, instanceSchema, signal));
    if (found !== null && isUnreachable(found.value)) {
      throw new IncusError(
        'unavailable',
        `The member ${found.value.location} does not respond for its instances.`,
      );
    }
    return found !== null && this.#isOf(ref, found.value) ? found : null;
  }

  /** In a shared project `find` hides instances that are not the organisation's, which may have the name. */
  async refuseTaken(ref: MachineRef, signal: AbortSignal): Promise<void> {
    const { path, query } = instanceLocation(this.#client, ref);
    const found = await this.#client.find({ what: 'read the instance', path, query }, instanceSchema, signal);
    if (found === null || this.#isOf(ref, found.value)) return;
    throw new IncusError(
      'conflict',
      'An instance that does not belong to the organisation has the name of this machine.',
    );
  }

  /**
   * Incus reports "stopped" until a start has ended, so an instance counts as off only if no operation was in progress and a second
   * read still reports it as off.
   */
  async observe(ref: MachineRef, signal: AbortSignal): Promise<ObservedInstance | null> {
    const found = await this.find(ref, signal);
    if (found === null) return null;
    if (!isOff(found.value)) return { instance: found.value, isUnderWay: false };
    if (await this.isUnderWay(ref, signal)) return { instance: found.value, isUnderWay: true };
    const again = await this.find(ref, signal);
    return again === null ? null : { instance: again.value, isUnderWay: false };
  }

  /** Waits for a start in progress. */
  async settled(ref: MachineRef, signal: AbortSignal): Promise<IncusInstance> {
    return this.retryBusy(signal, async () => {
      const observed = await this.observe(ref, signal);
      if (observed === null) throw machineNotFoundError();
      if (observed.isUnderWay) throw new IncusError('busy', 'The machine is being started.');
      return observed.instance;
    });
  }

  async get(ref: MachineRef, signal: AbortSignal): Promise<IncusInstance> {
    const found = await this.find(ref, signal);
    if (found !== null) return found.value;
    throw machineNotFoundError();
  }

  /** Merges into the config. Unlike `edit` it cannot remove keys and needs no read before. */
  async patchConfig(
    ref: MachineRef,
    config: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<void> {
    const { path, query } = instanceLocation(this.#client, ref);
    await this.retryBusy(signal, () =>
      this.#client.write(
        { what: 'annotate the instance', method: 'PATCH', path, query, body: { config } },
        signal,
      ),
    );
  }

  /**
   * Replaces config and devices if unchanged since the read, else reads again. `change` returns null if there is nothing to do.
   * Throws `not_found` if the machine does not exist.
   */
  async edit(
    ref: MachineRef,
    change: (instance: IncusInstance) => InstanceEdit | null,
    signal: AbortSignal,
  ): Promise<void> {
    const { path, query } = instanceLocation(this.#client, ref);
    for (let attempt = 1; ; attempt += 1) {
      // The ETag does not cover the state, so this read omits it.
      const found = await this.#client.find(
        { what: 'read the instance', path, query },
        instanceSchema,
        signal,
      );
      if (found === null || !this.#isOf(ref, found.value)) throw machineNotFoundError();
      const fields = change(found.value);
      if (fields === null) return;
      const { architecture, description, ephemeral, profiles } = found.value;
      const body = { architecture, description, ephemeral, profiles, ...fields };
      try {
        await this.retryBusy(signal, () =>
          this.#client.write(
            { what: 'change the instance', method: 'PUT', path, query, body, etag: found.etag },
            signal,
          ),
        );
        return;
      } catch (error) {
        const isStale = error instanceof IncusError && error.code === preconditionFailed;
        if (!isStale || attempt >= editAttempts) throw error;
      }
    }
  }

  /** Succeeds if the machine is already on. */
  async start(ref: MachineRef, signal: AbortSignal): Promise<void> {
    await this.#power(ref, { action: 'start', force: false }, isOn, signal);
  }

  /** Requests a start without waiting for its result, for a machine that is off. */
  async orderStart(ref: MachineRef, signal: AbortSignal): Promise<void> {
    const { path, query } = instanceLocation(this.#client, ref);
    const body = { action: 'start', force: false };
    const start = { what: 'start the instance', method: 'PUT', path: `${path}/state`, query, body } as const;
    await this.retryBusy(signal, () => this.#client.begin(start, signal));
  }

  async forceStop(ref: MachineRef, signal: AbortSignal): Promise<void> {
    await this.#power(ref, { action: 'stop', force: true }, isOff, signal);
  }

  /** Shuts down, and forces it after `graceMs`; the result is verified by a read. */
  async stop(ref: MachineRef, graceMs: number, signal: AbortSignal): Promise<void> {
    if (graceMs > 0 && !isOff(await this.settled(ref, signal))) {
      await this.#request(ref, 'stop', graceMs, signal);
    }
    await this.forceStop(ref, signal);
  }

  /** Restarts, and forces it after `graceMs`; a machine that is off, or went off meanwhile, is started. */
  async restart(ref: MachineRef, graceMs: number, signal: AbortSignal): Promise<void> {
    const isUp = isOn(await this.settled(ref, signal));
    if (isUp && graceMs > 0 && (await this.#request(ref, 'restart', graceMs, signal))) return;
    await this.retryBusy(signal, async () => {
      if (!isUp || !isOn(await this.get(ref, signal))) return this.start(ref, signal);
      try {
        await this.#setState(ref, { action: 'restart', force: true }, signal);
      } catch (error) {
        if (isDriverError(error, 'unavailable') || isOn(await this.get(ref, signal))) throw error;
        await this.start(ref, signal);
      }
    });
  }

  /** Deletes the machine in any power state; succeeds if it does not exist. */
  async delete(ref: MachineRef, signal: AbortSignal): Promise<void> {
    const { path, query } = instanceLocation(this.#client, ref);
    await this.retryBusy(signal, async () => {
      const found = await this.find(ref, signal);
      if (found === null) return;
      try {
        if (!isOff(found.value)) await this.forceStop(ref, signal);
        await this.#client.write({ what: 'delete the instance', method: 'DELETE', path, query }, signal);
      } catch (error) {
        if (!isDriverError(error, 'not_found')) throw error;
      }
      if ((await this.find(ref, signal)) === null) return;
      throw new IncusError('busy', 'The instance still exists after its deletion.');
    });
  }

  /** Whether an operation on this instance is in progress. */
  async isUnderWay(ref: MachineRef, signal: AbortSignal): Promise<boolean> {
    const { name, query } = instanceLocation(this.#client, ref);
    return (await this.namesUnderWay(query, signal)).has(name);
  }

  /** Names of instances with an operation in progress, in one project or in all. */
  async namesUnderWay(where: ProjectScope, signal: AbortSignal): Promise<ReadonlySet<string>> {
    const request = { what: 'list operations', path: '/1.0/operations', query: { ...where, recursion: '1' } };
    const operations = await this.#client.read(request, operationsSchema, signal);
    const urls = (operations?.running ?? []).flatMap(({ resources }) =>
      Object.values(resources ?? {}).flatMap((found) => found ?? []),
    );
    return new Set(urls.map((url) => url.split('?')[0]?.split('/').at(-1) ?? ''));
  }

  /** Retries for a limited time while another operation on the machine is in progress. */
  async retryBusy<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const { clock } = this.#client;
    const startedMs = clock.monotonicMs();
    for (;;) {
      try {
        return await work();
      } catch (error) {
        const isStale = error instanceof IncusError && error.code === preconditionFailed;
        const isLate = clock.monotonicMs() - startedMs > busyTimeoutMs;
        if (!isDriverError(error, 'busy') || isStale || isLate) throw error;
        await this.pause(signal);
      }
    }
  }

  async pause(signal: AbortSignal): Promise<void> {
    try {
      await this.#client.clock.sleep(operationPollMs, AbortSignal.any([signal, this.#client.closing]));
    } catch (error) {
      throw new IncusError('unavailable', 'The call timed out while the engine was busy.', {
        cause: error,
      });
    }
  }

  /** In a shared project only the annotation separates the machines of organisations. */
  #isOf({ orgId }: MachineRef, { config }: IncusInstance): boolean {
    return this.#client.project === null || config?.[configKeys.org] === orgId;
  }

  /** Only the reached state counts: "is already running" is no failure. */
  async #power(
    ref: MachineRef,
    wanted: { readonly action: PowerAction; readonly force: boolean },
    isThere: (instance: IncusInstance) => boolean,
    signal: AbortSignal,
  ): Promise<void> {
    await this.retryBusy(signal, async () => {
      if (isThere(await this.settled(ref, signal))) return;
      try {
        await this.#setState(ref, wanted, signal);
      } catch (error) {
        if (isDriverError(error, 'busy') || isDriverError(error, 'unavailable')) throw error;
        if (!isThere(await this.get(ref, signal))) throw error;
      }
    });
  }

  /** Whether the machine obeyed. Any refusal leads to force, so only a missing response is a failure. */
  async #request(
    ref: MachineRef,
    action: PowerAction,
    graceMs: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    const timeout = msToSecondsRoundUp(graceMs);
    try {
      await this.retryBusy(signal, () => this.#setState(ref, { action, force: false, timeout }, signal));
      return true;
    } catch (error) {
      // Incus reports a shutdown timeout as an exceeded deadline, which elsewhere means a lost member.
      if (signal.aborted || !isDriverError(error) || isDriverError(error, 'not_found')) throw error;
      return false;
    }
  }

  async #setState(
    ref: MachineRef,
    body: { readonly action: PowerAction; readonly force: boolean; readonly timeout?: number },
    signal: AbortSignal,
  ): Promise<void> {
    const { path, query } = instanceLocation(this.#client, ref);
    const what = `${body.action} the instance`;
    await this.#client.write({ what, method: 'PUT', path: `${path}/state`, query, body }, signal);
  }
}

function machineNotFoundError(): IncusError {
  return new IncusError('not_found', 'Incus has no such machine.', { code: 404 });
}
