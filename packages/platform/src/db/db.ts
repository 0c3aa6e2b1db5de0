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
  /**
   * How long to retry while other sessions hold a required lock or all connections. By default the first such timeout
   * fails the transaction. For work that must not fail because the machine is busy.
   */
  readonly retryForMs?: number;
  /**
   * Allows the transaction while the clock of the process is wrong. Only for work that does not charge, end or delete;
   * other transactions fail with a `ClockSkewError`.
   */
  readonly withAnyClock?: true;
}

/** The connection pool: reads outside a transaction, and opens transactions. */
export interface Db {
  readonly [dbBrand]: true;
  /** Queries on any free connection. Throws inside an open transaction: use its `Tx`. */
  readonly kysely: Kysely<Tables>;
  /**
   * Runs `work` in one transaction: commits if it resolves, rolls back if it rejects. After a serialization failure
   * `work` runs again, so it must have no effects outside the transaction.
   */
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
   * Runs after this attempt has committed, never after a rollback. A failed hook is only logged. Do not rely on hooks:
   * the process may die before they run.
   */
  afterCommit(hook: () => void | Promise<void>): void;
}

/** A read runs in the caller's transaction or on the pool. */
export type Reader = Db | Tx;
