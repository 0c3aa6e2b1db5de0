import { Client, type ClientConfig } from 'pg';
import type { Timer } from '../../clock/index.ts';
import { probePrimary } from './primary-probe.ts';
import type { ServerChoice } from './server-choice.ts';
import type { PostgresServer } from './server-url.ts';

const EVERY_MS = 1_000;
const TIMEOUT_MS = 2_000;

/**
 * Asks the other servers of a pool each second whether one of them is the primary now. The connections of the pool do not notice it if
 * the earlier primary is frozen, or continues to answer because Patroni died beside it.
 */
export class PrimaryWatch {
  readonly #choice: ServerChoice;
  readonly #config: ClientConfig;
  readonly #clock: Timer;
  readonly #standbys = new Map<PostgresServer, Client>();
  readonly #stopping = new AbortController();
  #running: Promise<unknown> | null = null;

  constructor(choice: ServerChoice, config: ClientConfig, clock: Timer) {
    this.#choice = choice;
    this.#config = config;
    this.#clock = clock;
  }

  /** Starts once, and only if there are several servers. */
  start(): void {
    if (this.#choice.count === 1) return;
    this.#running ??= Promise.all(this.#choice.servers.map((server) => this.#watch(server)));
  }

  /** Does not wait for the answer of a server. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const server of this.#choice.servers) this.#close(server);
    await this.#running;
  }

  /** Each server has its own loop, so that a frozen one does not delay the others. */
  async #watch(server: PostgresServer): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.#look(server);
      await this.#clock.sleep(EVERY_MS, signal).catch(() => undefined);
    }
    this.#close(server);
  }

  /** A server that cannot be asked is not a primary, as far as this process can know. */
  async #look(server: PostgresServer): Promise<void> {
    const { primary } = this.#choice;
    if (primary === null || server === primary) return this.#close(server);
    try {
      const client = this.#standbys.get(server) ?? (await this.#connect(server));
      const position = await probePrimary((config) => client.query(config), TIMEOUT_MS);
      if (position !== null && this.#choice.isNewer(position)) this.#choice.setPrimary(server, position);
    } catch {
      this.#close(server);
    }
  }

  async #connect(server: PostgresServer): Promise<Client> {
    const client = new Client({ ...this.#config, ...server, connectionTimeoutMillis: TIMEOUT_MS });
    client.on('error', () => undefined);
    this.#standbys.set(server, client);
    await client.connect();
    return client;
  }

  #close(server: PostgresServer): void {
    const client = this.#standbys.get(server);
    this.#standbys.delete(server);
    // A frozen server would not close its side of the connection.
    client?.connection.stream.destroy();
  }
}
