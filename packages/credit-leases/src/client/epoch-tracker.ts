import type { RequestId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';

/**
 * What one gateway has under way in the epochs of one pot, and the reports of their ends. A report says: nothing of these
 * epochs will follow. So it is sent when the epoch is over here and its last request has been settled, which is after its
 * usage was acknowledged; and an epoch that was reported is never entered again under the same id.
 */
export interface EpochTracker {
  /** The id to be known by in this life. */
  gatewayId(): string;
  /** False for an epoch that has ended here: it may live on elsewhere, but is open only to another life. */
  begin(epoch: bigint): boolean;
  /** Counts a request in. */
  enter(epoch: bigint, requestId: RequestId): void;
  /** Counts it out. */
  leave(epoch: bigint, requestId: RequestId): void;
  /** Whether it was counted in and not yet out. */
  has(epoch: bigint, requestId: RequestId): boolean;
  /** This epoch and all before it are over. Said again of what was reported already, it is reported again. */
  end(throughEpoch: bigint): void;
  /** What is done from now on is done under another id; what is under way ends under the old one. */
  renewHolderId(): void;
  inFlight(): number;
  /** Nothing is under way and nothing is left to report. */
  isDone(): boolean;
  /** Reports what is over and done. Tried again with the next call if it fails. */
  report(): Promise<void>;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
}

interface HolderRun {
  readonly id: string;
  readonly inFlight: Map<bigint, Set<RequestId>>;
  started: bigint;
  over: bigint;
  reported: bigint;
}

export interface EpochTrackerOptions {
  /** Never the same twice. */
  readonly nextId: () => string;
  readonly publish: (gatewayId: string, throughEpoch: bigint) => Promise<void>;
  readonly log: Pick<Logger, 'warn'>;
}

export function createEpochTracker(options: EpochTrackerOptions): EpochTracker {
  const newRun = (): HolderRun => ({
    id: options.nextId(),
    inFlight: new Map(),
    started: 0n,
    over: 0n,
    reported: 0n,
  });
  let run = newRun();
  // Lives that are over, until the last of their requests is settled and reported.
  const past = new Set<HolderRun>();
  const waiters = new Set<() => void>();
  let reporting: Promise<void> = Promise.resolve();
  let inFlight = 0;

  /** How far the ends can be reported: up to what is over, and below the oldest request under way. */
  function publishableThrough(each: HolderRun): bigint {
    let through = each.over;
    for (const [epoch, requests] of each.inFlight) {
      if (requests.size > 0 && epoch <= through) through = epoch - 1n;
    }
    return through;
  }

  function removeFromHolder(each: HolderRun, epoch: bigint, requestId: RequestId): boolean {
    const requests = each.inFlight.get(epoch);
    if (requests?.delete(requestId) !== true) return false;
    if (requests.size === 0) each.inFlight.delete(epoch);
    return true;
  }

  /** Most requests are of the present life, and end nothing with their own end. */
  function leave(epoch: bigint, requestId: RequestId): void {
    if (
      !removeFromHolder(run, epoch, requestId) &&
      ![...past].some((each) => removeFromHolder(each, epoch, requestId))
    )
      return;
    inFlight -= 1;
    if (inFlight === 0) for (const wake of waiters) wake();
    if (hasEndsToPublish()) void report();
  }

  const isBehind = (each: HolderRun): boolean =>
    each.over > each.reported && publishableThrough(each) > each.reported;

  function hasEndsToPublish(): boolean {
    if (isBehind(run)) return true;
    for (const each of past) if (isBehind(each)) return true;
    return false;
  }

  async function publishHolderEnd(each: HolderRun): Promise<void> {
    const through = publishableThrough(each);
    if (through > each.reported) {
      await options.publish(each.id, through);
      each.reported = through;
    }
    if (each !== run && each.inFlight.size === 0) past.delete(each);
  }

  async function publishAllEnds(): Promise<void> {
    for (const each of [run, ...past]) {
      await publishHolderEnd(each).catch((error: unknown) =>
        options.log.warn({ err: error }, 'the end of an epoch will be reported again'),
      );
    }
  }

  function report(): Promise<void> {
    // One after the other, so that who waits for this one knows that everything until now was looked at.
    reporting = reporting.then(publishAllEnds);
    return reporting;
  }

  return {
    gatewayId: () => run.id,
    begin(epoch) {
      if (epoch <= run.over) return false;
      // A newer epoch ends the older ones: the pot has only one.
      if (epoch > run.started && run.started > run.over) run.over = epoch - 1n;
      run.started = epoch;
      return true;
    },
    enter(epoch, requestId) {
      let requests = run.inFlight.get(epoch);
      if (requests === undefined) run.inFlight.set(epoch, (requests = new Set()));
      if (requests.has(requestId)) return;
      requests.add(requestId);
      inFlight += 1;
    },
    leave,
    has: (epoch, requestId) =>
      run.inFlight.get(epoch)?.has(requestId) === true ||
      [...past].some((each) => each.inFlight.get(epoch)?.has(requestId) === true),
    end(throughEpoch) {
      // Asked for although it was reported: not read yet, or lost with the stream that it stood in. Without it the lease
      // would never close while this gateway lives, and a second marker changes nothing.
      if (throughEpoch > 0n && throughEpoch <= run.reported) run.reported = throughEpoch - 1n;
      if (throughEpoch > run.over) run.over = throughEpoch;
      if (hasEndsToPublish()) void report();
    },
    renewHolderId() {
      if (run.started > run.over) run.over = run.started;
      past.add(run);
      run = newRun();
      if (hasEndsToPublish()) void report();
    },
    inFlight: () => inFlight,
    isDone: () => inFlight === 0 && !hasEndsToPublish(),
    report,
    idle: () =>
      inFlight === 0
        ? Promise.resolve()
        : new Promise((resolve) => {
            const wake = (): void => {
              waiters.delete(wake);
              resolve();
            };
            waiters.add(wake);
          }),
  };
}
