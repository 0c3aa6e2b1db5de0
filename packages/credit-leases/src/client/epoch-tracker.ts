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

/** The last epoch whose end can be reported: ended, and older than the oldest request in flight. */
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
 * Tracks the requests of one gateway in the epochs of one lease series, and reports their ends. An end marker says that no
 * usage of these epochs follows. It is sent after the last request is settled, so after its usage was acknowledged; a reported
 * epoch is never entered again under the same id.
 */
export class EpochTracker {
  readonly #options;
  #run: HolderRun;
  /** Ended runs, until the last of their requests is settled and reported. */
  readonly #past = new Set<HolderRun>();
  readonly #waiters: (() => void)[] = [];
  #reporting: Promise<void> = Promise.resolve();
  #inFlight = 0;

  constructor(options: {
    /** Must return a new id each time. */
    readonly nextId: () => string;
    readonly publish: (gatewayId: string, throughEpoch: bigint) => Promise<void>;
    readonly log: Pick<Logger, 'warn'>;
  }) {
    this.#options = options;
    this.#run = newRun(options.nextId());
  }

  /** The id of the current run as a lease holder. */
  get gatewayId(): string {
    return this.#run.id;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** False for an epoch that ended in this run: only another run can use it. */
  begin(epoch: bigint): boolean {
    const run = this.#run;
    if (epoch <= run.over) return false;
    // A newer epoch ends the older ones: a series has only one open lease.
    if (epoch > run.started && run.started > run.over) run.over = epoch - 1n;
    run.started = epoch;
    return true;
  }

  enter(epoch: bigint, requestId: RequestId): void {
    let requests = this.#run.inFlight.get(epoch);
    if (requests === undefined) this.#run.inFlight.set(epoch, (requests = new Set()));
    if (requests.has(requestId)) return;
    requests.add(requestId);
    this.#inFlight += 1;
  }

  /** Most requests are of the current run and end no epoch. */
  leave(epoch: bigint, requestId: RequestId): void {
    if (!removeRequest(this.#run, epoch, requestId) && !this.#removeFromPast(epoch, requestId)) return;
    this.#inFlight -= 1;
    if (this.#inFlight === 0) for (const wake of this.#waiters.splice(0)) wake();
    this.#reportIfBehind();
  }

  has(epoch: bigint, requestId: RequestId): boolean {
    if (this.#run.inFlight.get(epoch)?.has(requestId) === true) return true;
    return [...this.#past].some(({ inFlight }) => inFlight.get(epoch)?.has(requestId) === true);
  }

  /** Ends this epoch and all before it. Repeating it for a reported epoch reports the epoch again. */
  end(throughEpoch: bigint): void {
    const run = this.#run;
    // A repeated request means that the marker was not read yet or was lost with its stream. Without it the lease
    // would never close while this gateway runs, and a second marker changes nothing.
    if (throughEpoch > 0n && throughEpoch <= run.reported) run.reported = throughEpoch - 1n;
    if (throughEpoch > run.over) run.over = throughEpoch;
    this.#reportIfBehind();
  }

  /** Starts a new run under another id; requests in flight end under the old one. */
  renewHolderId(): void {
    if (this.#run.started > this.#run.over) this.#run.over = this.#run.started;
    this.#past.add(this.#run);
    this.#run = newRun(this.#options.nextId());
    this.#reportIfBehind();
  }

  /** Whether no request is in flight and no end is unreported. */
  isDone(): boolean {
    return this.#inFlight === 0 && !this.#hasEndsToPublish();
  }

  /** Publishes the ends that are due. A failed end is retried by the next call. */
  report(): Promise<void> {
    // Serialized, so that an awaited report covers everything that ended before the call.
    this.#reporting = this.#reporting.then(() => this.#publishAllEnds());
    return this.#reporting;
  }

  /** Resolves when no request is in flight. */
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
        this.#options.log.warn({ err: error }, 'could not publish an end marker; retrying'),
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
