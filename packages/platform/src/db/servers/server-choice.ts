import { serverName, type PostgresServer } from './server-url.ts';

/** No server of the URL accepts writes. The message has the reason of each, without secrets. */
export class NoWritableServerError extends Error {
  constructor(reasons: readonly string[], cause: unknown) {
    super(`No PostgreSQL server accepts writes: ${reasons.join('; ')}.`, { cause });
    this.name = 'NoWritableServerError';
  }
}

/** A connection could not be opened, or its server is a standby. */
export class ServerConnectError extends Error {
  readonly server: PostgresServer;

  constructor(server: PostgresServer, cause: Error) {
    super(cause.message, { cause });
    this.name = 'ServerConnectError';
    this.server = server;
  }
}

/** The place of a primary among all primaries of its database: each promotion begins a new timeline. */
export interface PrimaryPosition {
  /** Another one is another database, whose timelines cannot be compared. */
  readonly system: string;
  readonly timeline: number;
}

export interface OpenConnection {
  /** Closes the connection because another server is the primary now. */
  replace(): void;
}

/** Remembers which of several servers is the newest primary. Shared by the connections of a pool. */
export class ServerChoice {
  readonly servers: readonly PostgresServer[];
  readonly #open = new Map<OpenConnection, PrimaryPosition>();
  #current = 0;
  #newest: PrimaryPosition | null = null;
  #primary: PostgresServer | null = null;

  constructor(servers: readonly PostgresServer[]) {
    this.servers = servers;
  }

  get count(): number {
    return this.servers.length;
  }

  /** The server that was found to be the newest primary. Null until one was found. */
  get primary(): PostgresServer | null {
    return this.#primary;
  }

  /** The server for the next connection. */
  current(): PostgresServer {
    const server = this.servers[this.#current];
    if (server === undefined) throw new Error('The URL names no PostgreSQL server.');
    return server;
  }

  /** Concurrent connections may report the same server; only the first report moves on. */
  failed(server: PostgresServer): void {
    if (this.current() === server) this.#current = (this.#current + 1) % this.count;
  }

  /**
   * Records that a server accepts writes. An earlier primary may do that for a while after its successor was promoted, so a
   * server with an older timeline is refused, and connections to earlier primaries are closed: they would read old rows. Two
   * addresses may lead to one primary, so connections with the same position remain open.
   */
  setPrimary(server: PostgresServer, position: PrimaryPosition): void {
    const newest = this.#newest;
    if (newest?.system === position.system && position.timeline < newest.timeline) {
      throw new Error('another server has replaced it as the primary');
    }
    this.#newest = position;
    this.#primary = server;
    this.#current = this.servers.indexOf(server);
    for (const [connection, { system, timeline }] of this.#open) {
      if (system !== position.system || timeline !== position.timeline) connection.replace();
    }
  }

  /** Whether a server with this position has replaced the known primary of the same database. */
  isNewer({ system, timeline }: PrimaryPosition): boolean {
    return this.#newest?.system === system && timeline > this.#newest.timeline;
  }

  opened(connection: OpenConnection, position: PrimaryPosition): void {
    this.#open.set(connection, position);
  }

  closed(connection: OpenConnection): void {
    this.#open.delete(connection);
  }

  /** Repeats `connect`, which uses `current()`, until it found the writable server or each was tried once. */
  async connect<T>(connect: () => Promise<T>): Promise<T> {
    const reasons: string[] = [];
    for (;;) {
      try {
        return await connect();
      } catch (error) {
        // Other errors, such as a full pool, do not concern a server.
        if (!(error instanceof ServerConnectError)) throw error;
        reasons.push(`${serverName(error.server)}: ${error.message}`);
        if (reasons.length >= this.count) throw new NoWritableServerError(reasons, error);
      }
    }
  }
}
