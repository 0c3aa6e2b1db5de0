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
  /** Resolves when the database answers a query. */
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
  readonly clock: Clock;
  /**
   * Runs once after this attempt has committed, and never if it rolls back. A hook that fails is logged
   * and changes nothing: the transaction is already done. Never rely on one: the process may die first.
   */
  afterCommit(hook: () => void | Promise<void>): void;
}

/** Where a read may run: inside the caller's transaction, or on the pool. */
export type Reader = Db | Tx;
