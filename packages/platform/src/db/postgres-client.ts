import { Client, DatabaseError, type ClientConfig, type QueryConfig, type QueryResult } from 'pg';
import { systemClock } from '../clock/index.ts';
import { divideWithRemainder } from '../money/index.ts';
import { explainConnectError } from './connection-problem.ts';
import { UnknownCommitError, isCertainlyNotCommitted, isReadOnlyServer } from './errors.ts';
import { longStatementsText, readClockText, statementNameOf } from './prepared-statement.ts';
import { probePrimary } from './servers/primary-probe.ts';
import {
  ServerConnectError,
  type OpenConnection,
  type PrimaryPosition,
  type ServerChoice,
} from './servers/server-choice.ts';
import type { PostgresServer } from './servers/server-url.ts';

type Query = (config: string | QueryConfig, ...rest: unknown[]) => Promise<QueryResult> | undefined;
type Connect = (callback?: (error?: Error) => void) => Promise<Client> | undefined;

/** The function of PostgreSQL that warns when it stops waiting for a standby. The text of a warning may be translated. */
const waitForStandby = 'SyncRepWaitForLSN';

/** A timer that is later than this was delayed by a pause of the process. */
const pauseMs = 1_000;
const probeMs = 2_000;

export interface PostgresClientConfig extends ClientConfig {
  readonly choice: ServerChoice;
  /** How long after the timeout of a statement its response may arrive. Without it, the connection waits forever. */
  readonly graceMs?: number;
}

/**
 * A connection to one server. It knows when the result of a COMMIT is unknown, and closes itself when the server stops accepting
 * writes or answering, so that the pool replaces it.
 */
export class PostgresClient extends Client implements OpenConnection {
  readonly #server: PostgresServer;
  readonly #choice: ServerChoice;
  readonly #timeoutMs: number;
  readonly #config: ClientConfig;
  /** Null: not limited. */
  readonly #graceMs: number | null;
  readonly #statementTimeoutMs: number;
  /** The statement timeout of the current transaction, if it is not that of the connection. */
  #longStatementMs: number | null = null;
  #didNotWaitForStandby = false;

  constructor(config: PostgresClientConfig) {
    const { choice } = config;
    const server = choice.current();
    // All servers share the timeout of one connection.
    const [timeoutMs] = divideWithRemainder(config.connectionTimeoutMillis ?? 0, choice.count);
    super({ ...config, ...server, connectionTimeoutMillis: timeoutMs });
    this.#server = server;
    this.#choice = choice;
    this.#timeoutMs = timeoutMs;
    this.#config = config;
    this.#graceMs = config.graceMs ?? null;
    this.#statementTimeoutMs = Number(config.statement_timeout);
    // The pool listens only after `connect`, and an error without a listener would end the process.
    this.on('error', () => undefined);
    this.on('notice', ({ routine }) => {
      if (routine === waitForStandby) this.#didNotWaitForStandby = true;
    });
  }

  override connect: Client['connect'] = ((callback) => {
    const connected = this.#connect();
    if (callback === undefined) return connected;
    // oxlint-disable-next-line promise/no-callback-in-promise -- the driver's pool passes one
    connected.then(() => callback(), callback);
    return undefined;
  }) as Connect as Client['connect'];

  override query: Client['query'] = ((config, ...rest) => {
    const sent = this.#send(config, rest);
    if (!(sent instanceof Promise)) return sent;
    this.#limitTime(config, rest, sent);
    return config === 'commit' ? this.#commit(sent) : sent.catch((error: unknown) => this.#fail(error));
  }) as Query as Client['query'];

  async #connect(): Promise<Client> {
    const untilMs = systemClock.monotonicMs() + this.#timeoutMs;
    try {
      await super.connect();
      if (this.#choice.count === 1) return this;
      const position = await this.#requireWritable(untilMs - systemClock.monotonicMs());
      this.#choice.setPrimary(this.#server, position);
      this.#choice.opened(this, position);
      this.once('end', () => this.#choice.closed(this));
      return this;
    } catch (error) {
      this.#choice.failed(this.#server);
      void this.end();
      if (!(error instanceof Error)) throw error;
      const explained = explainConnectError(error, this.#server);
      throw this.#choice.count > 1 ? new ServerConnectError(this.#server, explained) : explained;
    }
  }

  replace(): void {
    this.connection.stream.destroy(new Error('Connection terminated: another server is the primary now'));
  }

  /** The time that is left of the timeout; not limited if there is none. */
  async #requireWritable(leftMs: number): Promise<PrimaryPosition> {
    const timeoutMs = this.#timeoutMs === 0 ? 0 : Math.max(1, Math.ceil(leftMs));
    const position = await probePrimary((config) => super.query(config), timeoutMs);
    if (position === null) throw new Error('it is a standby or read-only');
    return position;
  }

  /** Sends a defined text by name, and returns only the time of a text that ends with `readClockText`. */
  #send(config: string | QueryConfig, rest: readonly unknown[]): Promise<QueryResult> | undefined {
    const query = super.query.bind(this) as unknown as Query;
    if (typeof config !== 'string') return query(config, ...rest);
    const [values] = rest;
    const name = Array.isArray(values) ? statementNameOf(config) : undefined;
    if (name !== undefined) return query({ name, text: config, values: values as unknown[] });
    return config.endsWith(readClockText) ? query(config)?.then(lastOf) : query(config, ...rest);
  }

  /**
   * The timeouts of the server have no effect if its machine or the network is lost, and the operating system would notice that only
   * after a quarter of an hour.
   */
  #limitTime(config: string | QueryConfig, [values]: readonly unknown[], sent: Promise<unknown>): void {
    const graceMs = this.#graceMs;
    if (graceMs === null || !(this.#statementTimeoutMs > 0)) return;
    if (config === longStatementsText) this.#longStatementMs = Number((values as readonly unknown[])[0]);
    if (config === 'commit' || config === 'rollback') this.#longStatementMs = null;
    const limitMs = (this.#longStatementMs ?? this.#statementTimeoutMs) + graceMs;
    let hasEnded = false;
    let stop = (): void => undefined;
    const wait = (ms: number): void => {
      const dueMs = systemClock.monotonicMs() + ms;
      stop = systemClock.after(ms, () => void check(dueMs));
    };
    const check = async (dueMs: number): Promise<void> => {
      // After a pause of this process, the response may have arrived but is not read yet.
      if (systemClock.monotonicMs() - dueMs > pauseMs) return wait(graceMs);
      // COMMIT may wait for a standby, and the server continues to wait without its client. The pool would open further connections.
      const isWaiting = config === 'commit' && (await this.#isServerReachable());
      if (hasEnded) return;
      if (isWaiting) wait(limitMs);
      else this.connection.stream.destroy(new Error(`Connection terminated: no response in ${limitMs} ms`));
    };
    wait(limitMs);
    const end = (): void => {
      hasEnded = true;
      stop();
    };
    sent.then(end, end);
  }

  async #isServerReachable(): Promise<boolean> {
    const probe = new Client({ ...this.#config, ...this.#server, connectionTimeoutMillis: probeMs });
    probe.on('error', () => undefined);
    try {
      await probe.connect();
      return true;
    } catch (error) {
      // The server responded, for example that it has too many connections.
      return error instanceof DatabaseError;
    } finally {
      void probe.end().catch(() => undefined);
    }
  }

  #fail(error: unknown): never {
    if (isReadOnlyServer(error)) void this.end();
    throw error;
  }

  async #commit(sent: Promise<QueryResult>): Promise<QueryResult> {
    try {
      this.#didNotWaitForStandby = false;
      const result = await sent;
      // The row is on one disk, and is lost if that server is replaced now.
      if (this.#didNotWaitForStandby) throw new UnknownCommitError('PostgreSQL did not wait for its standby');
      return result;
    } catch (error) {
      if (error instanceof UnknownCommitError || isCertainlyNotCommitted(error)) throw error;
      throw new UnknownCommitError('the connection was lost', error);
    }
  }
}

/** A text with several statements returns an array of results. */
function lastOf(results: QueryResult | readonly QueryResult[]): QueryResult {
  const last = Array.isArray(results) ? (results as readonly QueryResult[]).at(-1) : (results as QueryResult);
  if (last === undefined) throw new Error('PostgreSQL returned no result.');
  return last;
}
