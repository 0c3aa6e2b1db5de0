import { backoffMs } from '../clock/index.ts';
/** A loop over items of several tenants, clusters or nodes, with the limits of one item. */
export interface SharedLoop {
  /** The name in metrics, logs and `loop_items`. It must stay the same in every release. */
  readonly name: string;
  /** The owners that share the loop: `organisations`, `clusters`, `storage nodes`. */
  readonly over: string;
  /** After this time the item's signal aborts, its slot is free and the item counts as failed. */
  readonly timeoutMs: number;
  /** The maximum of items in progress per process. */
  readonly atOnce: number;
  /** The wait after an item's first failure. Each further failure doubles it. */
  readonly firstRetryMs: number;
  readonly maxRetryMs: number;
}

/** A loop without items of several owners, so no item can block another's. */
export interface PrivateLoop {
  readonly name: string;
  readonly over: null;
  /** The reason why no item of one tenant can block another's. */
  readonly because: string;
}

export type LoopDefinition = SharedLoop | PrivateLoop;

export const loopDefaults = { timeoutMs: 60_000, atOnce: 8, firstRetryMs: 5_000, maxRetryMs: 15 * 60_000 };

type SharedLoopOptions = Pick<SharedLoop, 'name' | 'over'> & Partial<SharedLoop>;

/** Declares a loop. A test finds the literal names and requires a test with a failing item for each shared loop. */
export function defineLoop(options: SharedLoopOptions): SharedLoop;
export function defineLoop(options: PrivateLoop): PrivateLoop;
export function defineLoop(options: SharedLoopOptions | PrivateLoop): LoopDefinition {
  return options.over === null ? options : { ...loopDefaults, ...options };
}

/** The wait after `failures` consecutive failures, without jitter. */
export function retryDelayMs(
  loop: Pick<SharedLoop, 'firstRetryMs' | 'maxRetryMs'>,
  failures: number,
): number {
  return backoffMs(loop.firstRetryMs, loop.maxRetryMs, failures);
}
