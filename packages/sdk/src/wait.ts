import type { Clock } from './clock.ts';
import { AbortedError, MillraceError, TimeoutError, WaitFailedError } from './errors.ts';
import { mayRetry } from './retry.ts';
import type { RequestOptions } from './options.ts';
import type { Resources } from './resources.generated.ts';
import type { Output, Item } from './types.ts';
import { sleepUnlessAborted } from './transport.ts';

/** Waits for a resource to reach a state, and reports each step. */

export type Rental = Output<'getRental'>;
export type RentalStep = Rental['steps'][number];
export type Instance = Item<'listMarketplaceInstances'>;
export type Volume = Item<'listStorageVolumes'>;

export interface WaitOptions<Item> {
  /** Called when a step starts, ends or fails. */
  readonly onStep?: ((step: WaitStep, item: Item) => void) | undefined;
  /** The total timeout. Default: 30 minutes. Bare metal may take longer. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface WaitStep {
  readonly name: string;
  readonly status: RentalStep['status'];
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly message: string | null;
}

export interface RentalWaiters {
  /**
   * Resolves when the rental runs, is off, or has ended. Rejects with a WaitFailedError if it can no longer
   * reach that state, and with a TimeoutError after the timeout; neither affects the rental.
   */
  waitUntil(
    input: { readonly rentalId: number },
    state: 'running' | 'off' | 'terminated',
    options?: WaitOptions<Rental>,
  ): Promise<Rental>;
}

export interface InstanceWaiters {
  /** Like that of rentals. An ended instance is not listed, so waiting for its end resolves to null. */
  waitUntil(
    input: { readonly id: string },
    state: 'online' | 'terminated',
    options?: WaitOptions<Instance>,
  ): Promise<Instance | null>;
}

export interface VolumeWaiters {
  /** Like that of rentals. A deleted volume is not listed, so waiting for its deletion resolves to null. */
  waitUntil(
    input: { readonly storageVolumeId: number },
    state: 'active' | 'deleted',
    options?: WaitOptions<Volume>,
  ): Promise<Volume | null>;
}

/** The result of one poll: not yet, reached, or unreachable. */
type WaitResult<Result> =
  | { readonly kind: 'waiting' }
  | { readonly kind: 'reached'; readonly result: Result }
  | { readonly kind: 'lost'; readonly state: string; readonly why: string | null };

interface PollResult<Item, Result> {
  readonly resource: Item | null;
  readonly steps: readonly WaitStep[];
  readonly finding: WaitResult<Result>;
}

const defaultTimeoutMs = 30 * 60_000;
/** Every two seconds in the first minute, then every five, because a new organisation has 60 requests per minute. */
const fastPollMs = 60_000;
const fastPollIntervalMs = 2_000;
const slowPollIntervalMs = 5_000;

/** How long a wait continues without a response of the service; the resource is not affected by an outage. */
const maxUnansweredMs = 120_000;

const emptyPollResult = { resource: null, steps: [], finding: { kind: 'waiting' } } as const;

interface WaitDeps {
  readonly clock: Clock;
}

async function pollUntil<Item, Result>(
  { clock }: WaitDeps,
  what: string,
  look: (options: RequestOptions) => Promise<PollResult<Item, Result>>,
  { onStep, timeoutMs = defaultTimeoutMs, signal }: WaitOptions<Item>,
): Promise<Result> {
  const startedMs = clock.nowMs();
  const reported = new Map<string, string>();
  let lastSeenMs = startedMs;
  for (;;) {
    const seen = await look({ signal }).catch((error: unknown) => {
      const passes = error instanceof MillraceError && mayRetry(error, 'safe');
      if (!passes || clock.nowMs() - lastSeenMs > maxUnansweredMs) throw error;
      return null;
    });
    if (seen !== null) lastSeenMs = clock.nowMs();
    const { resource, steps, finding } = seen ?? emptyPollResult;
    for (const [index, step] of steps.entries()) {
      const key = `${index} ${step.name} ${step.startedAt ?? ''}`;
      if (step.status === 'waiting' || reported.get(key) === step.status) continue;
      reported.set(key, step.status);
      if (resource !== null) onStep?.(step, resource);
    }
    if (finding.kind === 'reached') return finding.result;
    if (finding.kind === 'lost') {
      const because = finding.why === null ? '' : `: ${finding.why}`;
      throw new WaitFailedError(`${what} is ${finding.state}${because}`, finding);
    }
    const waitedMs = clock.nowMs() - startedMs;
    if (waitedMs >= timeoutMs) {
      throw new TimeoutError(
        `${what} did not reach the state within ${timeoutMs} ms. It is not affected and continues.`,
      );
    }
    const pauseMs = Math.min(
      waitedMs < fastPollMs ? fastPollIntervalMs : slowPollIntervalMs,
      timeoutMs - waitedMs,
    );
    if (signal?.aborted === true) throw new AbortedError('The wait was aborted.', { cause: signal.reason });
    await sleepUnlessAborted(clock, pauseMs, signal);
  }
}

export function createWaiters(
  resources: Resources,
  waiting: WaitDeps,
): {
  readonly rentals: RentalWaiters;
  readonly volumes: VolumeWaiters;
  readonly instances: InstanceWaiters;
} {
  return {
    rentals: {
      waitUntil: ({ rentalId }, state, options = {}) =>
        pollUntil(
          waiting,
          `Rental ${rentalId}`,
          async (request) => {
            const rental = await resources.rentals.get({ rentalId }, request);
            return { resource: rental, steps: rental.steps, finding: findRental(rental, state) };
          },
          options,
        ),
    },
    volumes: {
      waitUntil: ({ storageVolumeId }, state, options = {}) =>
        pollUntil(
          waiting,
          `Volume ${storageVolumeId}`,
          async (request) => {
            const volume = await findIn(
              resources.volumes.list({}, request),
              (one) => one.id === storageVolumeId,
            );
            return toPollResult(volume, volume?.status ?? null, findVolume(volume, state));
          },
          options,
        ),
    },
    instances: {
      waitUntil: ({ id }, state, options = {}) =>
        pollUntil(
          waiting,
          `Instance ${id}`,
          async (request) => {
            const instance = await findIn(
              resources.marketplace.instances.list({}, request),
              (one) => one.id === id,
            );
            return toPollResult(instance, instance?.instance.status ?? null, findInstance(instance, state));
          },
          options,
        ),
    },
  };
}

function findRental(rental: Rental, wanted: 'running' | 'off' | 'terminated'): WaitResult<Rental> {
  const { status, power, statusReason } = rental;
  if (wanted === 'terminated') {
    return status === 'Terminated' ? { kind: 'reached', result: rental } : { kind: 'waiting' };
  }
  if (status === 'Failed' || status === 'Terminating' || status === 'Terminated') {
    return { kind: 'lost', state: status, why: statusReason };
  }
  const there = status === 'Running' && power === (wanted === 'running' ? 'on' : 'off');
  return there ? { kind: 'reached', result: rental } : { kind: 'waiting' };
}

function findVolume(volume: Volume | null, wanted: 'active' | 'deleted'): WaitResult<Volume | null> {
  if (volume === null) {
    if (wanted === 'deleted') return { kind: 'reached', result: null };
    return { kind: 'lost', state: 'deleted', why: null };
  }
  return wanted === 'active' && volume.status === 'active'
    ? { kind: 'reached', result: volume }
    : { kind: 'waiting' };
}

const endedInstances: readonly string[] = ['failed', 'stopping', 'terminated'];

function findInstance(
  instance: Instance | null,
  wanted: 'online' | 'terminated',
): WaitResult<Instance | null> {
  const status = instance?.instance.status ?? 'terminated';
  if (wanted === 'terminated') {
    return status === 'terminated' ? { kind: 'reached', result: instance } : { kind: 'waiting' };
  }
  if (status === 'online') return { kind: 'reached', result: instance };
  return endedInstances.includes(status) ? { kind: 'lost', state: status, why: null } : { kind: 'waiting' };
}

/** For resources without steps: each new state counts as a step. */
function toPollResult<Item, Result>(
  resource: Item | null,
  state: string | null,
  finding: WaitResult<Result>,
): PollResult<Item, Result> {
  const steps: readonly WaitStep[] =
    state === null ? [] : [{ name: state, status: 'running', startedAt: null, endedAt: null, message: null }];
  return { resource, steps, finding };
}

async function findIn<Item>(list: AsyncIterable<Item>, isIt: (item: Item) => boolean): Promise<Item | null> {
  for await (const item of list) if (isIt(item)) return item;
  return null;
}
