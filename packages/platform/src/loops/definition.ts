import { backoffMs } from '../clock/index.ts';
/** A loop over items of several tenants, clusters or nodes, and how much of the process one item may take. */
export interface SharedLoop {
  /** Names the loop in metrics, logs and the table of failing items. Static, and the same in every release. */
  readonly name: string;
  /** The owners that share the loop: `organisations`, `clusters`, `storage nodes`. */
  readonly over: string;
  /** One item's time. After it the item's signal aborts, its place is free and the item counts as failed. */
  readonly timeoutMs: number;
  /** How many items of one process are under way at most. */
  readonly atOnce: number;
  /** The wait after an item's first failure. It doubles with each further failure. */
  readonly firstRetryMs: number;
  readonly maxRetryMs: number;
}

/** A loop without items of several owners: nothing in it can block a neighbour. */
export interface PrivateLoop {
  readonly name: string;
  readonly over: null;
  /** The reason why no item of one tenant can hold back another's. */
  readonly because: string;
}

export type LoopDefinition = SharedLoop | PrivateLoop;

export const loopDefaults = { timeoutMs: 60_000, atOnce: 8, firstRetryMs: 5_000, maxRetryMs: 15 * 60_000 };

type SharedLoopOptions = Pick<SharedLoop, 'name' | 'over'> & Partial<SharedLoop>;

/**
 * Declares a loop. Every loop of the product is declared by one call with a literal name: a test finds these calls in
 * the sources and requires a case with a poisoned item for each shared loop.
 */
export function defineLoop(options: SharedLoopOptions): SharedLoop;
export function defineLoop(options: PrivateLoop): PrivateLoop;
export function defineLoop(options: SharedLoopOptions | PrivateLoop): LoopDefinition {
  return options.over === null ? options : { ...loopDefaults, ...options };
}

/** The wait after the given number of failures in a row, without jitter. */
export function retryDelayMs(
  loop: Pick<SharedLoop, 'firstRetryMs' | 'maxRetryMs'>,
  failures: number,
): number {
  return backoffMs(loop.firstRetryMs, loop.maxRetryMs, failures);
}
