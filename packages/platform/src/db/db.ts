import type { Kysely, Transaction } from 'kysely';
import type { Clock } from '../clock/index.ts';
import type { IdSource } from '../ids/index.ts';
import type { Tables } from './tables.ts';

declare const dbBrand: unique symbol;
declare const txBrand: unique symbol;

export type Isolation = 'read committed' | 'repeatable read' | 'serializable';

export interface TransactionOptions {
  /** Identifies the transaction in traces and metrics: a verb and its object, such as `revoke api key`. */
  readonly name: string;
  /** Required, because concurrent changes between two statements affect the meaning of the code. */
  readonly isolation: Isolation;
  /** The maximum of runs of `work` after serialization failures and deadlocks. */
  readonly maxAttempts?: number;
  /** How long to retry while other sessions hold a lock or all connections. By default not at all. */
  readonly retryForMs?: number;
  /**
   * Allows the transaction with a wrong process clock. Only for work that does not charge, end or delete: other
   * transactions throw `ClockSkewError` until the clock is right.
   */
  readonly withAnyClock?: true;
}

/** The connection pool: reads outside a transaction, and opens transactions. */
export interface Db {
  readonly [dbBrand]: true;
  /** Queries on any free connection. Throws inside an open transaction: use its `Tx`. */
  readonly kysely: Kysely<Tables>;
  /** Commits if `work` resolves, rolls back if it rejects. `work` may run again: no effects outside. */
  transaction<T>(options: TransactionOptions, work: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * The time of the database without a query: from the last reading of its clock and the monotonic time since. Each
   * transaction and each `ping` reads the clock. Throws before the first reading. Tests pass their own clock.
   */
  readonly clock: Clock;
  /** Null while the clock of the process agrees with the database's. Otherwise the problem and its repair, as text. */
  clockProblem(): string | null;
  /** Resolves when the database responds to a query. Reads its clock. */
  ping(): Promise<void>;
  /** Waits for running queries and closes all connections. */
  close(): Promise<void>;
}

/** An open transaction. Only `Db.transaction` creates one, so a `Tx` proves that a transaction is open. */
export interface Tx {
  readonly [txBrand]: true;
  readonly kysely: Transaction<Tables>;
  /** Creates the ids of new rows, so that a store needs only the transaction. */
  readonly ids: IdSource;
  /** The time of the database, read at the start of the transaction. It advances while the transaction waits. */
  readonly clock: Clock;
  /**
   * Runs once after this attempt has committed, never after a rollback. A failed hook is only logged. The process may die
   * before: do not rely on hooks.
   */
  afterCommit(hook: () => void | Promise<void>): void;
}

/** A read runs in the caller's transaction or on the pool. */
export type Reader = Db | Tx;
