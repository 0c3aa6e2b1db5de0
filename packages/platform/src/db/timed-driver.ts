import {
  CompiledQuery,
  PostgresDialect,
  PostgresDriver,
  type DatabaseConnection,
  type PostgresDialectConfig,
  type TransactionSettings,
} from 'kysely';
import type { Clock, ClockReading, RemoteClock } from '../clock/index.ts';
import { readClockText } from './prepared-statement.ts';

interface ClockRow {
  readonly nowMs: number;
}

type PostgresConnection = Parameters<PostgresDriver['rollbackTransaction']>[0];

/** The database clock that was read at the begin of the transaction on each connection. */
export type BeginClocks = WeakMap<DatabaseConnection, Clock>;

/** Reads the clock of the database. The text `before` is sent in the same round trip. */
export async function readClock(
  connection: Pick<DatabaseConnection, 'executeQuery'>,
  monotonicMs: () => number,
  before = '',
): Promise<ClockReading> {
  const sentMs = monotonicMs();
  const { rows } = await connection.executeQuery<ClockRow>(CompiledQuery.raw(`${before}${readClockText}`));
  const receivedMs = monotonicMs();
  const remoteMs = rows[0]?.nowMs;
  if (remoteMs === undefined) throw new Error('PostgreSQL did not return its time.');
  return { remoteMs, sentMs, receivedMs };
}

/** Reads the database's clock in the round trip of each BEGIN, unless a test replaces the clock. */
class TimedDriver extends PostgresDriver {
  readonly #clock: RemoteClock | null;
  readonly #started: BeginClocks;

  constructor(config: PostgresDialectConfig, clock: RemoteClock | null, started: BeginClocks) {
    super(config);
    this.#clock = clock;
    this.#started = started;
  }

  override async beginTransaction(
    connection: PostgresConnection,
    settings: TransactionSettings,
  ): Promise<void> {
    const clock = this.#clock;
    if (clock === null) return super.beginTransaction(connection, settings);
    const isolation =
      settings.isolationLevel === undefined ? '' : ` isolation level ${settings.isolationLevel}`;
    const begin = `start transaction${isolation}; `;
    try {
      const reading = await readClock(connection, () => clock.monotonicMs(), begin);
      this.#started.set(connection, clock.take(reading));
    } catch (error) {
      // The transaction may have begun although the reading failed; do not reuse the connection like that.
      await this.rollbackTransaction(connection);
      throw error;
    }
  }

  /** Ignores a failed rollback: Kysely discards the connection, and the caller needs the first error. */
  override async rollbackTransaction(connection: PostgresConnection): Promise<void> {
    await super.rollbackTransaction(connection).catch(() => undefined);
  }
}

/** The PostgreSQL dialect whose transactions read the database's clock at their start. Null: they do not. */
export class TimedDialect extends PostgresDialect {
  readonly #make: () => TimedDriver;

  constructor(config: PostgresDialectConfig, clock: RemoteClock | null, started: BeginClocks) {
    super(config);
    this.#make = () => new TimedDriver(config, clock, started);
  }

  override createDriver(): PostgresDriver {
    return this.#make();
  }
}
