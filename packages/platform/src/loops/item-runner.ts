import { randomUUID } from 'node:crypto';
import { systemClock, withDeadline, DeadlineError, type Timer } from '../clock/index.ts';
import type { Db } from '../db/index.ts';
import type { Logger } from '../log/index.ts';
import { counter } from '../telemetry/index.ts';
import { retryDelayMs, type SharedLoop } from './definition.ts';
import {
  claimItems,
  extendClaim,
  deleteItems,
  listItemStates,
  releaseItems,
  rowKeyOf,
  saveFailure,
  type ClaimedItems,
  type ItemState,
} from './loop-items.store.ts';
import { runSplittingOnFailure } from './split-batch.ts';

const failures = counter('millrace_loop_item_failures_total');

export interface ItemRunnerOptions {
  /** Measures the time of items. Defaults to the machine's clock; rows in `db` use the clock of transactions. */
  readonly clock?: Timer;
  readonly log: Pick<Logger, 'warn'>;
  /**
   * Stores failures, so that all workers postpone an item and a query for work can exclude it. Without it failures stay
   * in memory, for items that only this process handles, such as its own connections.
   */
  readonly db?: Db;
  /** Whether the runner claims an item before its work. For loops whose query locks nothing. Requires `db`. */
  readonly claims?: boolean;
  /** A number from 0 (inclusive) to 1 that spreads the retries of items that failed together. */
  readonly random?: () => number;
}

export interface ItemWork<T> {
  key(item: T): string;
  /** Must stop when the signal aborts. Work that does not stop blocks its key, but not its slot. */
  work(item: T, signal: AbortSignal): Promise<void>;
  /** After this aborts, no further item starts and the signals of items in progress abort. */
  readonly signal?: AbortSignal;
  /** How long `run` waits; later, items continue in their slots. By default until each item has ended. */
  readonly maxWaitMs?: number;
}

export interface BatchWork<T> {
  key(item: T): string;
  /** One transaction over the items, so that a failure changes nothing. It locks or guards its rows itself. */
  together(items: readonly T[]): Promise<void>;
}

export interface RunReport {
  /** Items whose work succeeded before `run` returned. */
  readonly done: number;
  readonly failed: number;
  /** Items that were not started: postponed, claimed by another worker, or still in progress from an earlier call. */
  readonly skipped: number;
}

export interface ItemRunner {
  /** Free slots, which limit the number of items that a query for work should return. */
  readonly free: number;
  /** Runs each item separately. */
  run<T>(items: readonly T[], work: ItemWork<T>): Promise<RunReport>;
  /**
   * Runs a batch in one transaction, and if it fails in smaller ones: n items together, then in about √n parts, then
   * the failing parts item by item. A bad item costs the others about 2√n further transactions.
   */
  runBatch<T>(items: readonly T[], work: BatchWork<T>): Promise<RunReport>;
  /** Resolves when no item has a slot. Does not wait for work that ignored its deadline. */
  settled(): Promise<void>;
}

interface FailureState {
  readonly failures: number;
  /** By the monotonic clock, for failures in memory only. */
  readonly freeAtMs: number;
}

/** Items that may start, with their failure counts. */
interface ClaimedBatch {
  readonly ready: readonly string[];
  readonly known: ReadonlyMap<string, number>;
}

interface FailedItem {
  readonly key: string;
  /** The caller's key. */
  readonly name: string;
  readonly failures: number;
}

const failuresOf = (listed: readonly ItemState[]): ReadonlyMap<string, number> =>
  new Map(listed.filter(({ failures }) => failures > 0).map(({ item, failures }) => [item, failures]));

/** Excludes postponed items. */
function toClaimedBatch(listed: readonly ItemState[], keys: readonly string[], now: Date): ClaimedBatch {
  const postponed = new Set(listed.filter(({ freeAt }) => freeAt > now).map(({ item }) => item));
  return { ready: keys.filter((key) => !postponed.has(key)), known: failuresOf(listed) };
}

const CLAIM_MARGIN_MS = 30_000;
const RENEW_AFTER_MS = 15_000;
const MAX_PROBLEM_CHARS = 500;
const isolation = 'read committed';

/**
 * Runs work over items of several owners so that none blocks the others. Each item has a deadline, its exception ends
 * only itself, and after a failure it is postponed with backoff, so that later items come first. Failures are counted
 * by loop, and logged at each doubling of the wait.
 */
export function createItemRunner(loop: SharedLoop, options: ItemRunnerOptions): ItemRunner {
  return new Runner(loop, options);
}

class Runner implements ItemRunner {
  readonly #loop: SharedLoop;
  readonly #options: ItemRunnerOptions;
  readonly #clock: Timer;
  readonly #failing = new Map<string, FailureState>();
  /** Items whose work has not ended, including those that lost their slot at the deadline. */
  readonly #running = new Set<string>();
  /** Items in slots. Each ends at its deadline at the latest. */
  readonly #placed = new Set<Promise<void>>();
  readonly #waiting: (() => void)[] = [];
  /** Identifies the claims of this runner. */
  readonly #holder: string | null;
  #free: number;

  constructor(loop: SharedLoop, options: ItemRunnerOptions) {
    if (options.claims === true && options.db === undefined) throw new TypeError('Claims require a Db.');
    this.#loop = loop;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#free = loop.atOnce;
    this.#holder = options.claims === true ? randomUUID() : null;
  }

  get free(): number {
    return this.#free;
  }

  async settled(): Promise<void> {
    while (this.#placed.size > 0) await Promise.all(this.#placed);
  }

  async run<T>(items: readonly T[], work: ItemWork<T>): Promise<RunReport> {
    const byKey = new Map(items.map((item) => [rowKeyOf(work.key(item)), item]));
    const counts = { done: 0, failed: 0, problems: [] as unknown[], hasAnswered: false };
    const started: Promise<void>[] = [];
    const idle = [...byKey.keys()].filter((key) => !this.#running.has(key));
    const { ready, known } = await this.#takeReady(idle);
    const takenMs = this.#clock.monotonicMs();
    for (const [index, key] of ready.entries()) {
      await this.#place();
      if (work.signal?.aborted === true) {
        this.#leave();
        await this.#giveBack(ready.slice(index));
        break;
      }
      if (!(await this.#isStillOwned(key, takenMs))) continue;
      const item = byKey.get(key) as T;
      const placed: Promise<void> = this.#one(
        { key, name: work.key(item), failuresBefore: known.get(key) ?? 0 },
        (signal) => work.work(item, signal),
        work.signal,
      )
        .then(
          (ended) => void (counts[ended] += 1),
          (problem: unknown) => this.#unrecorded(counts, key, problem),
        )
        .then(() => void this.#placed.delete(placed));
      this.#placed.add(placed);
      started.push(placed);
    }
    await this.#withRetries(Promise.all(started), work.maxWaitMs);
    counts.hasAnswered = true;
    // The failure could not be recorded, so the state of the item is unknown and the loop must back off.
    if (counts.problems.length > 0) throw counts.problems[0];
    return { done: counts.done, failed: counts.failed, skipped: byKey.size - started.length };
  }

  /** A failure that cannot be recorded fails the round. If the round has returned already, it is logged. */
  #unrecorded(counts: { problems: unknown[]; hasAnswered: boolean }, item: string, problem: unknown): void {
    counts.problems.push(problem);
    if (!counts.hasAnswered) return;
    const about = { err: problem, loop: this.#loop.name, item };
    this.#options.log.warn(about, 'failure of a loop item could not be recorded');
  }

  /** Renews a claim that ran down while its item waited for a slot; false if another worker took it. */
  async #isStillOwned(key: string, takenMs: number): Promise<boolean> {
    const { db } = this.#options;
    const waitedMs = this.#clock.monotonicMs() - takenMs;
    if (db === undefined || this.#holder === null || waitedMs < RENEW_AFTER_MS) return true;
    let isOwn = false;
    try {
      isOwn = await db.transaction({ name: 'renew claim', isolation }, (tx) =>
        extendClaim(tx, this.#held([key]), this.#loop.timeoutMs + CLAIM_MARGIN_MS),
      );
      return isOwn;
    } finally {
      if (!isOwn) this.#leave();
    }
  }

  async runBatch<T>(items: readonly T[], work: BatchWork<T>): Promise<RunReport> {
    const byKey = new Map(items.map((item) => [rowKeyOf(work.key(item)), item]));
    const { ready, known } = await this.#takeReady([...byKey.keys()]);
    const failed = new Set<string>();
    await runSplittingOnFailure(ready, {
      together: (keys) => work.together(keys.flatMap((key) => byKey.get(key) ?? [])),
      fail: async (key, error) => {
        failed.add(key);
        const item = byKey.get(key) as T;
        await this.#postpone({ key, name: work.key(item), failures: (known.get(key) ?? 0) + 1 }, error);
      },
    });
    const done = ready.filter((key) => !failed.has(key));
    await this.#succeeded(done.filter((key) => this.#options.claims === true || (known.get(key) ?? 0) > 0));
    return { done: done.length, failed: failed.size, skipped: byKey.size - ready.length };
  }

  async #takeReady(keys: readonly string[]): Promise<ClaimedBatch> {
    const { db } = this.#options;
    if (db === undefined) {
      const nowMs = this.#clock.monotonicMs();
      const ready = keys.filter((key) => (this.#failing.get(key)?.freeAtMs ?? 0) <= nowMs);
      this.#removeVanished(nowMs);
      return { ready, known: new Map(ready.map((key) => [key, this.#failing.get(key)?.failures ?? 0])) };
    }
    if (keys.length === 0) return { ready: [], known: new Map() };
    const holder = this.#holder;
    if (holder === null)
      return toClaimedBatch(await listItemStates(db, this.#loop.name, keys), keys, db.clock.now());
    return db.transaction({ name: 'take items', isolation }, async (tx) => {
      const listed = await listItemStates(tx, this.#loop.name, keys);
      const claim = { holder, forMs: this.#loop.timeoutMs + CLAIM_MARGIN_MS };
      const claimed = new Set(await claimItems(tx, this.#loop.name, keys, claim));
      return { ready: keys.filter((key) => claimed.has(key)), known: failuresOf(listed) };
    });
  }

  /** Runs one item until it ends or times out. Rejects only if a failure cannot be recorded. */
  async #one(
    {
      key,
      name,
      failuresBefore,
    }: { readonly key: string; readonly name: string; readonly failuresBefore: number },
    work: (signal: AbortSignal) => Promise<void>,
    stop: AbortSignal | undefined,
  ): Promise<'done' | 'failed'> {
    const run = async (late: AbortSignal): Promise<void> => {
      const signal = stop === undefined ? late : AbortSignal.any([late, stop]);
      // Deferred by a tick, so that work that throws before its first await is caught too.
      const running = Promise.resolve().then(() => work(signal));
      const end = (): void => void this.#running.delete(key);
      this.#running.add(key);
      running.then(end, end);
      await running;
    };
    try {
      await withDeadline(this.#clock, `An item of the loop "${this.#loop.name}"`, this.#loop.timeoutMs, run);
    } catch (error) {
      this.#leave();
      // Work that was aborted by a shutdown has not failed.
      if (stop?.aborted === true && !(error instanceof DeadlineError)) await this.#giveBack([key]);
      else await this.#postpone({ key, name, failures: failuresBefore + 1 }, error);
      this.#keepFromOthers(key);
      return 'failed';
    }
    this.#leave();
    if (failuresBefore > 0 || this.#holder !== null) await this.#succeeded([key]);
    return 'done';
  }

  /** Extends the claim while work ignores its deadline, so that no other worker starts the item concurrently. */
  #keepFromOthers(key: string): void {
    const { db, log } = this.#options;
    if (db === undefined || this.#holder === null || !this.#running.has(key)) return;
    const extend = (): Promise<boolean> =>
      db.transaction({ name: 'keep hanging item', isolation }, (tx) =>
        extendClaim(tx, this.#held([key]), 2 * CLAIM_MARGIN_MS),
      );
    const again = (): void => {
      if (!this.#running.has(key)) return;
      extend().then(
        (isOwn) => {
          if (isOwn) this.#clock.after(CLAIM_MARGIN_MS, again);
        },
        (error: unknown) => {
          log.warn(
            { err: error, loop: this.#loop.name, item: key },
            'claim of a hanging loop item could not be extended',
          );
          this.#clock.after(CLAIM_MARGIN_MS, again);
        },
      );
    };
    again();
  }

  #held(items: readonly string[]): ClaimedItems {
    return { loop: this.#loop.name, items, holder: this.#holder };
  }

  async #succeeded(keys: readonly string[]): Promise<void> {
    const { db } = this.#options;
    for (const key of keys) this.#failing.delete(key);
    if (db === undefined || keys.length === 0) return;
    await db.transaction({ name: 'forget items', isolation }, (tx) => deleteItems(tx, this.#held(keys)));
  }

  async #postpone(item: FailedItem, error: unknown): Promise<void> {
    const { db, log, random = Math.random } = this.#options;
    const { key, failures: count } = item;
    const { name } = this.#loop;
    const wholeMs = retryDelayMs(this.#loop, count);
    const retryInMs = Math.round(wholeMs * (0.5 + random() * 0.5));
    failures.add(1, { loop: name, kind: error instanceof DeadlineError ? 'late' : 'error' });
    if (count === 1 || wholeMs > retryDelayMs(this.#loop, count - 1)) {
      log.warn({ err: error, loop: name, item: item.name, failures: count, retryInMs }, 'loop item failed');
    }
    if (db === undefined) {
      this.#failing.set(key, { failures: count, freeAtMs: this.#clock.monotonicMs() + retryInMs });
      return;
    }
    const problem = (error instanceof Error ? error.message : String(error)).slice(0, MAX_PROBLEM_CHARS);
    const failure = { item: key, failures: count, retryInMs, problem, holder: this.#holder };
    await db.transaction({ name: 'postpone item', isolation }, (tx) => saveFailure(tx, name, failure));
  }

  async #giveBack(keys: readonly string[]): Promise<void> {
    const { db } = this.#options;
    if (db === undefined || this.#holder === null) return;
    await db.transaction({ name: 'give items back', isolation }, (tx) => releaseItems(tx, this.#held(keys)));
  }

  /** Deletes failures of items that no longer exist, which would otherwise stay in memory forever. */
  #removeVanished(nowMs: number): void {
    for (const [key, { freeAtMs }] of this.#failing) {
      if (freeAtMs + 2 * this.#loop.maxRetryMs < nowMs) this.#failing.delete(key);
    }
  }

  async #withRetries(all: Promise<unknown>, maxWaitMs: number | undefined): Promise<void> {
    if (maxWaitMs === undefined) {
      await all;
      return;
    }
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(maxWaitMs, resolve);
      const end = (): void => {
        cancel();
        resolve();
      };
      all.then(end, end);
    });
  }

  async #place(): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}
