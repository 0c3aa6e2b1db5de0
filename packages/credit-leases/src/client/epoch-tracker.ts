import type { RequestId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';

interface HolderRun {
  readonly id: string;
  readonly inFlight: Map<bigint, Set<RequestId>>;
  started: bigint;
  over: bigint;
  reported: bigint;
}

const newRun = (id: string): HolderRun => ({ id, inFlight: new Map(), started: 0n, over: 0n, reported: 0n });

/** How far the ends can be reported: up to what is over, and below the oldest request under way. */
function publishableThrough(run: HolderRun): bigint {
  let through = run.over;
  for (const [epoch, requests] of run.inFlight) {
    if (requests.size > 0 && epoch <= through) through = epoch - 1n;
  }
  return through;
}

function isBehind(run: HolderRun): boolean {
  return run.over > run.reported && publishableThrough(run) > run.reported;
}

function removeRequest(run: HolderRun, epoch: bigint, requestId: RequestId): boolean {
  const requests = run.inFlight.get(epoch);
  if (requests?.delete(requestId) !== true) return false;
  if (requests.size === 0) run.inFlight.delete(epoch);
  return true;
}

/**
 * What one gateway has under way in the epochs of one pot, and the reports of their ends. A report says: nothing of these
 * epochs will follow. So it is sent when the epoch is over here and its last request has been settled, which is after its
 * usage was acknowledged; and an epoch that was reported is never entered again under the same id.
 */
export class EpochTracker {
  readonly #options;
  #run: HolderRun;
  /** Runs that are over, until the last of their requests is settled and reported. */
  readonly #past = new Set<HolderRun>();
  readonly #waiters: (() => void)[] = [];
  #reporting: Promise<void> = Promise.resolve();
  #inFlight = 0;

  constructor(options: {
    /** Never the same twice. */
    readonly nextId: () => string;
    readonly publish: (gatewayId: string, throughEpoch: bigint) => Promise<void>;
    readonly log: Pick<Logger, 'warn'>;
  }) {
    this.#options = options;
    this.#run = newRun(options.nextId());
  }

  /** The id of the present run as a lease holder. */
  get gatewayId(): string {
    return this.#run.id;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** False for an epoch that has ended here: it may live on elsewhere, but is open only to another run. */
  begin(epoch: bigint): boolean {
    const run = this.#run;
    if (epoch <= run.over) return false;
    // A newer epoch ends the older ones: the pot has only one.
    if (epoch > run.started && run.started > run.over) run.over = epoch - 1n;
    run.started = epoch;
    return true;
  }

  /** Counts a request in. */
  enter(epoch: bigint, requestId: RequestId): void {
    let requests = this.#run.inFlight.get(epoch);
    if (requests === undefined) this.#run.inFlight.set(epoch, (requests = new Set()));
    if (requests.has(requestId)) return;
    requests.add(requestId);
    this.#inFlight += 1;
  }

  /** Counts it out. Most requests are of the present run, and end nothing with their own end. */
  leave(epoch: bigint, requestId: RequestId): void {
    if (!removeRequest(this.#run, epoch, requestId) && !this.#removeFromPast(epoch, requestId)) return;
    this.#inFlight -= 1;
    if (this.#inFlight === 0) for (const wake of this.#waiters.splice(0)) wake();
    this.#reportIfBehind();
  }

  /** Whether it was counted in and not yet out. */
  has(epoch: bigint, requestId: RequestId): boolean {
    if (this.#run.inFlight.get(epoch)?.has(requestId) === true) return true;
    return [...this.#past].some(({ inFlight }) => inFlight.get(epoch)?.has(requestId) === true);
  }

  /** This epoch and all before it are over. Said again of what was reported already, it is reported again. */
  end(throughEpoch: bigint): void {
    const run = this.#run;
    // Asked for although it was reported: not read yet, or lost with the stream that it stood in. Without it the lease
    // would never close while this gateway lives, and a second marker changes nothing.
    if (throughEpoch > 0n && throughEpoch <= run.reported) run.reported = throughEpoch - 1n;
    if (throughEpoch > run.over) run.over = throughEpoch;
    this.#reportIfBehind();
  }

  /** What is done from now on is done under another id; what is under way ends under the old one. */
  renewHolderId(): void {
    if (this.#run.started > this.#run.over) this.#run.over = this.#run.started;
    this.#past.add(this.#run);
    this.#run = newRun(this.#options.nextId());
    this.#reportIfBehind();
  }

  /** Nothing is under way and nothing is left to report. */
  isDone(): boolean {
    return this.#inFlight === 0 && !this.#hasEndsToPublish();
  }

  /** Reports what is over and done. Tried again with the next call if it fails. */
  report(): Promise<void> {
    // One after the other, so that who waits for this one knows that everything until now was looked at.
    this.#reporting = this.#reporting.then(() => this.#publishAllEnds());
    return this.#reporting;
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    if (this.#inFlight > 0) await new Promise<void>((wake) => void this.#waiters.push(wake));
  }

  #removeFromPast(epoch: bigint, requestId: RequestId): boolean {
    return [...this.#past].some((run) => removeRequest(run, epoch, requestId));
  }

  #hasEndsToPublish(): boolean {
    if (isBehind(this.#run)) return true;
    for (const run of this.#past) if (isBehind(run)) return true;
    return false;
  }

  #reportIfBehind(): void {
    if (this.#hasEndsToPublish()) void this.report();
  }

  async #publishAllEnds(): Promise<void> {
    for (const run of [this.#run, ...this.#past]) {
      await this.#publishHolderEnd(run).catch((error: unknown) =>
        this.#options.log.warn({ err: error }, 'the end of an epoch will be reported again'),
      );
    }
  }

  async #publishHolderEnd(run: HolderRun): Promise<void> {
    const through = publishableThrough(run);
    if (through > run.reported) {
      await this.#options.publish(run.id, through);
      run.reported = through;
    }
    if (run !== this.#run && run.inFlight.size === 0) this.#past.delete(run);
  }
}
