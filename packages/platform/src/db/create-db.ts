import { Kysely, sql, type PostgresPool, type Transaction } from 'kysely';
import { Pool } from 'pg';
import {
  backoffMs,
  ClockGuard,
  ClockSkewError,
  RemoteClock,
  systemClock,
  type Clock,
} from '../clock/index.ts';
import type { IdSource } from '../ids/index.ts';
import type { Logger } from '../log/index.ts';
import { msToSeconds } from '../money/index.ts';
import { counter, gauge, histogram, inSpan, onScrape } from '../telemetry/index.ts';
import type { Db, TransactionOptions, Tx } from './db.ts';
import { connectionConfig, type DatabaseAccess } from './connect.ts';
import { isContended, isLostBeforeCommit, isRetryable } from './errors.ts';
import { PostgresClient, type PostgresClientConfig } from './postgres-client.ts';
import { PrimaryWatch } from './servers/primary-watch.ts';
import { assertOutsideTransaction, runInTransactionScope } from './transaction-scope.ts';
import type { Tables } from './tables.ts';
import { readClock, TimedDialect, type BeginClocks } from './timed-driver.ts';
import { columnTypes } from './types.ts';

/** All rights of the processes together, for tools and for processes of earlier releases. It cannot change the schema. */
export const appRole = 'millrace_app';

/** The role of each process, with the rights that its code needs. Logins are members of one of them. */
export const processRoles = {
  api: 'millrace_api',
  worker: 'millrace_worker',
  admin: 'millrace_admin',
} as const;

export interface DbOptions extends DatabaseAccess {
  readonly poolSize: number;
  /** The process and its instance, shown in pg_stat_activity. */
  readonly applicationName?: string;
  /** Replaces the time of the database in tests and simulations. */
  readonly clock?: Clock;
  /** False allows transactions with a wrong process clock, for commands that an operator runs. */
  readonly guardClock?: boolean;
  /** The clock of the process, for durations and waits. Defaults to the machine's clock. */
  readonly processClock?: Clock;
  readonly ids: IdSource;
  readonly log: Pick<Logger, 'error' | 'warn'>;
  readonly statementTimeoutMs?: number;
  readonly lockTimeoutMs?: number;
  readonly idleInTransactionTimeoutMs?: number;
  /** How long after the timeout of a statement its response may arrive. Then the server counts as lost. */
  readonly graceMs?: number;
  /** The maximum wait for a free or new connection, to all servers of the URL together. */
  readonly connectTimeoutMs?: number;
  /** The role of every session, regardless of the login in the URL. Null keeps the login's rights. */
  readonly role?: string | null;
  /** A number from 0 (inclusive) to 1 that spreads retries. */
  readonly random?: () => number;
}

const defaults = {
  statementTimeoutMs: 10_000,
  lockTimeoutMs: 5_000,
  idleInTransactionTimeoutMs: 10_000,
  graceMs: 8_000,
  connectTimeoutMs: 5_000,
};
const defaultMaxAttempts = 5;
const connectionLifetimeSeconds = 1_800;

const durations = histogram('millrace_db_transaction_duration_seconds');
const attempts = counter('millrace_db_transaction_attempts_total');
const connectionsGauge = gauge('millrace_db_connections');
const waitingGauge = gauge('millrace_db_waiting');

function createPool(options: DbOptions): PostgresPool {
  const role = options.role === undefined ? appRole : options.role;
  if (role !== null && !/^[a-z_][a-z0-9_]*$/.test(role)) {
    throw new TypeError(`Not a role name: ${JSON.stringify(role)}.`);
  }
  const connectionTimeoutMillis = options.connectTimeoutMs ?? defaults.connectTimeoutMs;
  const config: PostgresClientConfig = {
    ...connectionConfig(options),
    application_name: options.applicationName ?? 'millrace',
    // The driver sends these settings with the connection request, so they apply from the first statement.
    statement_timeout: options.statementTimeoutMs ?? defaults.statementTimeoutMs,
    lock_timeout: options.lockTimeoutMs ?? defaults.lockTimeoutMs,
    idle_in_transaction_session_timeout:
      options.idleInTransactionTimeoutMs ?? defaults.idleInTransactionTimeoutMs,
    connectionTimeoutMillis,
    graceMs: options.graceMs ?? defaults.graceMs,
    types: columnTypes,
    ...(role === null ? {} : { options: `-c role=${role}` }),
  };
  const pool = new Pool({
    // The pool gives a client its own options.
    Client: class extends PostgresClient {
      constructor() {
        super(config);
      }
    },
    max: options.poolSize,
    connectionTimeoutMillis,
    maxLifetimeSeconds: connectionLifetimeSeconds,
  });
  // The pool replaces a broken connection. Only the second listener gets PostgreSQL's reason, and without both the
  // error would end the process.
  pool.on('error', () => undefined);
  pool.on('connect', (client) =>
    client.on('error', (error) => options.log.warn({ err: error }, 'database connection lost')),
  );
  const endScrapes = onScrape(() => {
    connectionsGauge.record(pool.totalCount - pool.idleCount, { state: 'in_use' });
    connectionsGauge.record(pool.idleCount, { state: 'idle' });
    connectionsGauge.record(options.poolSize, { state: 'limit' });
    waitingGauge.record(pool.waitingCount);
  });
  const watch = new PrimaryWatch(config.choice, config, options.processClock ?? systemClock);
  return {
    connect: () => {
      watch.start();
      return config.choice.connect(() => pool.connect());
    },
    end: async () => {
      endScrapes();
      try {
        // A COMMIT may wait on an earlier primary until the watch finds the new one.
        await pool.end();
      } finally {
        await watch.stop();
      }
    },
    options: pool.options,
  };
}

type Hook = () => void | Promise<void>;
type Work<T> = (tx: Tx) => Promise<T>;

export function createDb(options: DbOptions): Db {
  const runner = new TransactionRunner(options);
  const { kysely, remote, timer, guard } = runner;
  return {
    get kysely() {
      assertOutsideTransaction('The connection pool');
      return kysely;
    },
    transaction: (o, work) => runner.transaction(o, work),
    clock: remote ?? timer,
    clockProblem: () => guard?.problem() ?? null,
    async ping() {
      if (remote === null) {
        await sql`select 1`.execute(kysely);
        return;
      }
      await kysely.getExecutor().provideConnection(async (connection) => {
        remote.take(await readClock(connection, () => remote.monotonicMs()));
        guard?.problem();
      });
    },
    close: () => kysely.destroy(),
  } as Db;
}

class TransactionRunner {
  readonly timer: Clock;
  readonly remote: RemoteClock | null;
  readonly guard: ClockGuard | null;
  readonly kysely: Kysely<Tables>;
  readonly #options: DbOptions;
  readonly #started: BeginClocks = new WeakMap();

  constructor(options: DbOptions) {
    const { log } = options;
    this.#options = options;
    this.timer = options.clock ?? options.processClock ?? systemClock;
    this.remote = options.clock === undefined ? new RemoteClock('database', this.timer) : null;
    this.guard =
      this.remote === null ? null : new ClockGuard({ reference: this.remote, name: 'database', log });
    const pool = createPool(options);
    const dialect = new TimedDialect({ pool }, this.remote, this.#started);
    this.kysely = new Kysely<Tables>({ dialect });
  }

  async transaction<T>(o: TransactionOptions, work: Work<T>): Promise<T> {
    assertOutsideTransaction('A second transaction');
    const startedMs = this.timer.monotonicMs();
    let outcome: 'committed' | 'rolled back' = 'rolled back';
    try {
      const attributes = { 'db.system.name': 'postgresql', 'millrace.isolation': o.isolation };
      const [result, hooks] = await inSpan(`transaction ${o.name}`, { attributes }, () =>
        this.#runWithRetries(o, work),
      );
      outcome = 'committed';
      await this.#runHooks(o.name, hooks);
      return result;
    } finally {
      durations.record(msToSeconds(this.timer.monotonicMs() - startedMs), { name: o.name, outcome });
    }
  }

  /** The clock that the driver read when it began the transaction on this connection. */
  async #clockOf(transaction: Transaction<Tables>): Promise<Clock> {
    if (this.remote === null) return this.timer;
    const executor = transaction.getExecutor();
    const clock = await executor.provideConnection(async (held) => this.#started.get(held));
    if (clock === undefined) throw new Error('A transaction began without a reading of the clock.');
    return clock;
  }

  async #attempt<T>(o: TransactionOptions, work: Work<T>): Promise<[T, Hook[]]> {
    const { ids, guardClock: isGuarded = true } = this.#options;
    const hooks: Hook[] = [];
    const result = await this.kysely
      .transaction()
      .setIsolationLevel(o.isolation)
      .execute(async (kysely: Transaction<Tables>) => {
        const clock = await this.#clockOf(kysely);
        const problem = this.guard?.problem() ?? null;
        if (problem !== null && isGuarded && o.withAnyClock !== true) throw new ClockSkewError(problem);
        const tx = { kysely, ids, clock, afterCommit: (hook: Hook) => void hooks.push(hook) } as Tx;
        return runInTransactionScope(o.name, () => work(tx));
      });
    return [result, hooks];
  }

  async #runWithRetries<T>(o: TransactionOptions, work: Work<T>): Promise<[T, Hook[]]> {
    const { timer } = this;
    const { random = Math.random } = this.#options;
    const maxAttempts = o.maxAttempts ?? defaultMaxAttempts;
    const startedMs = timer.monotonicMs();
    const patientUntilMs = startedMs + (o.retryForMs ?? 0);
    const reconnectUntilMs = startedMs + (this.#options.connectTimeoutMs ?? defaults.connectTimeoutMs);
    for (let attemptNumber = 1, waits = 0; ; attemptNumber += 1) {
      attempts.add(1, { name: o.name, first: attemptNumber === 1 });
      try {
        return await this.#attempt(o, work);
      } catch (error) {
        const isWaiting = isContended(error) && timer.monotonicMs() < patientUntilMs;
        waits += isWaiting ? 1 : 0;
        const isReconnecting = isLostBeforeCommit(error) && timer.monotonicMs() < reconnectUntilMs;
        const mayRepeat = isReconnecting || isRetryable(error);
        if (!isWaiting && (attemptNumber - waits >= maxAttempts || !mayRepeat)) throw error;
        // Full jitter prevents two transactions from colliding again at the same instant.
        await timer.sleep(random() * backoffMs(10, 250, attemptNumber));
      }
    }
  }

  async #runHooks(name: string, hooks: readonly Hook[]): Promise<void> {
    for (const hook of hooks) {
      try {
        await hook();
      } catch (error) {
        const about = { err: error, transaction: name };
        this.#options.log.error(about, 'afterCommit hook failed');
      }
    }
  }
}
