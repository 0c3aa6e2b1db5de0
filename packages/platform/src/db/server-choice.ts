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

/** Remembers which of several servers accepted writes last. Shared by the connections of a pool. */
export class ServerChoice {
  readonly #servers: readonly PostgresServer[];
  #current = 0;

  constructor(servers: readonly PostgresServer[]) {
    this.#servers = servers;
  }

  get count(): number {
    return this.#servers.length;
  }

  /** The server for the next connection. */
  current(): PostgresServer {
    const server = this.#servers[this.#current];
    if (server === undefined) throw new Error('The URL names no PostgreSQL server.');
    return server;
  }

  /** Concurrent connections may report the same server; only the first report moves on. */
  failed(server: PostgresServer): void {
    if (this.current() === server) this.#current = (this.#current + 1) % this.count;
  }

  setWritable(server: PostgresServer): void {
    this.#current = this.#servers.indexOf(server);
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
