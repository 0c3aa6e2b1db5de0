import type { Kysely, Transaction } from 'kysely';
import type { Clock } from '../clock/index.ts';
import type { IdSource } from '../ids/index.ts';
import type { Tables } from './tables.ts';

declare const dbBrand: unique symbol;
declare const txBrand: unique symbol;

export type Isolation = 'read committed' | 'repeatable read' | 'serializable';

export interface TransactionOptions {
  /** Names the transaction in traces and metrics: a verb and its object, such as `revoke api key`. */
  readonly name: string;
  /** Always spelled out: what may happen between two statements is part of the meaning of the code. */
  readonly isolation: Isolation;
  /** How often to run `work` at most when PostgreSQL reports a serialization failure or deadlock. */
  readonly maxAttempts?: number;
  /**
   * For how long to run `work` again while others hold a lock or all connections that it needs. Left out, the first such
   * time-out fails it. For work that must not be refused because the machine is busy.
   */
  readonly retryForMs?: number;
  /**
   * Runs also while the clock of the process is wrong. Only for work that neither charges nor ends nor deletes: other
   * transactions are refused with a `ClockSkewError` until the clock is right.
   */
  readonly withAnyClock?: true;
}

/** The pool. Reads outside a transaction, and the only way to open one. */
export interface Db {
  readonly [dbBrand]: true;
  /** Queries on any free connection. Throws inside an open transaction: use the `Tx` there. */
  readonly kysely: Kysely<Tables>;
  /**
   * Runs `work` in one transaction and commits when it resolves; rolls back when it rejects. `work` runs
   * again from the start after a serialization failure, so it must keep nothing outside the transaction.
   */
  transaction<T>(options: TransactionOptions, work: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * The time of the database, known without a question: from the last reading of its clock and the monotonic time since.
   * Each transaction and each `ping` is a reading. Throws before the first one. In tests, the clock that was passed in.
   */
  readonly clock: Clock;
  /** Null while the clock of the process agrees with the database's. Otherwise the problem and its remedy in words. */
  clockProblem(): string | null;
  /** Resolves when the database answers a query. Reads its clock. */
  ping(): Promise<void>;
  /** Waits for the running queries and closes every connection. */
  close(): Promise<void>;
}

/** An open transaction. Only `Db.transaction` makes one, so holding it proves that one is open. */
export interface Tx {
  readonly [txBrand]: true;
  readonly kysely: Transaction<Tables>;
  /** What rows written here are stamped with, so that a store needs nothing but the transaction. */
  readonly ids: IdSource;
  /** The time of the database, read when the transaction began; it goes on while the transaction waits for locks. */
  readonly clock: Clock;
  /**
   * Runs once after this attempt has committed, and never if it rolls back. A hook that fails is logged
   * and changes nothing: the transaction is already done. Never rely on one: the process may die first.
   */
  afterCommit(hook: () => void | Promise<void>): void;
}

/** Where a read may run: inside the caller's transaction, or on the pool. */
export type Reader = Db | Tx;
