import type { EventEmitter } from 'node:events';
import { RedisClient } from '@redis/client';
import { backoffMs, systemClock, withDeadline, type Timer } from '../clock/index.ts';
import { assertOutsideTransaction } from '../db/index.ts';
import type { Logger } from '../log/index.ts';
import { explainConnectionError, explainPermissionError, ValkeyRefusedError } from './connection-problem.ts';
import type { ValkeyScript } from './script.ts';

export interface ValkeyOptions {
  /** `redis://` or, for TLS, `rediss://`, with the user and its password. */
  readonly url: string;
  /** PEM of the authority of the server's certificate. By default, public authorities. */
  readonly ca?: string | null;
  /** Shown by `CLIENT LIST`. */
  readonly name: string;
  readonly log: Pick<Logger, 'error' | 'warn' | 'info'>;
  readonly clock?: Timer;
  /** The default timeout of a command, and of an unresponsive connection (at least three seconds). */
  readonly commandTimeoutMs?: number;
  /** How long to wait for the first connection before continuing without one. */
  readonly firstConnectionMs?: number;
  /** A number from 0 (inclusive) to 1 that spreads reconnections. */
  readonly random?: () => number;
}

export interface ValkeyClient {
  /** Runs a script atomically. Sends its digest, and the text only if the server does not have the script. */
  run(
    script: ValkeyScript,
    call: { readonly keys: readonly string[]; readonly args: readonly string[]; readonly timeoutMs?: number },
  ): Promise<unknown>;
  /** Runs a script by digest only, which proves that the server has it. Otherwise fails with `NOSCRIPT`. */
  runLoaded(
    script: ValkeyScript,
    call: { readonly keys: readonly string[]; readonly args: readonly string[]; readonly timeoutMs?: number },
  ): Promise<unknown>;
  /** One plain command, such as `['GET', key]`. */
  command(words: readonly string[], options?: { readonly timeoutMs?: number }): Promise<unknown>;
  ping(): Promise<void>;
  /** Completes pending commands, then disconnects. */
  close(): Promise<void>;
}

const defaultCommandTimeoutMs = 500;
const defaultFirstConnectionMs = 5_000;
const connectTimeoutMs = 2_000;
// These times limit how long a server that stopped without closing its sockets goes unnoticed, even without commands.
const pingEveryMs = 1_000;
const idleTimeoutMs = 3_000;
const maxQueuedCommands = 10_000;

interface ConnectionWatch {
  /** Throws the reason if the server or this process refuses the connection. */
  assertAccepted(): void;
  /** Logs once that the server refused a command. */
  report(error: unknown): void;
}

/** Logs one line per loss and one per reason of a refused connection, and none per failed reconnection. */
function watchConnection(
  redis: Pick<EventEmitter, 'on'> & { readonly isReady: boolean },
  log: ValkeyOptions['log'],
  usesTls: boolean,
): ConnectionWatch {
  const reported = new Set<string>();
  let reachable = true;
  let wasReady = false;
  let reason: string | null = null;
  redis.on('error', (error: unknown) => {
    // The end of an open connection explains nothing; the next attempt does.
    const problem = wasReady ? null : explainConnectionError(error, usesTls);
    if (problem !== null && problem !== reason) log.error({ err: error }, problem);
    else if (reachable) log.warn({ err: error }, 'connection to Valkey lost');
    reason = problem;
    reachable = false;
    wasReady = redis.isReady;
  });
  redis.on('ready', () => {
    if (!reachable) log.info({}, 'connection to Valkey restored');
    reachable = true;
    wasReady = true;
    reason = null;
  });
  return {
    assertAccepted: () => {
      if (reason !== null && !redis.isReady) throw new ValkeyRefusedError(reason);
    },
    report: (error) => {
      const problem = explainPermissionError(error);
      if (problem === null || reported.has(problem)) return;
      log.error({}, problem);
      reported.add(problem);
    },
  };
}

function caOf({ ca = null }: ValkeyOptions): { readonly ca?: string } {
  return ca === null ? {} : { ca };
}

/** Whether the server refused a script because it does not have it. Then nothing was executed. */
export function isScriptUnknown(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}

/**
 * One class for all connections. `createClient` of the library makes a class with 400 methods for each set of options, which
 * takes longer than to connect.
 */
let newClient: ReturnType<typeof RedisClient.factory> | undefined;

/**
 * Connects and reconnects. Without a connection every command fails at once, because every caller handles that case and
 * a queue would only delay it. So this also resolves if the server is not reachable yet.
 */
export async function connectValkey(options: ValkeyOptions): Promise<ValkeyClient> {
  const { clock = systemClock, random = Math.random, log } = options;
  const defaultTimeoutMs = options.commandTimeoutMs ?? defaultCommandTimeoutMs;
  const usesTls = options.url.startsWith('rediss:');
  newClient ??= RedisClient.factory();
  const redis = newClient({
    url: options.url,
    name: options.name,
    disableOfflineQueue: true,
    commandsQueueMaxLength: maxQueuedCommands,
    pingInterval: pingEveryMs,
    // The library's timeout covers only writing to the socket; `send` below limits the whole command.
    commandOptions: { timeout: 0 },
    socket: {
      connectTimeout: connectTimeoutMs,
      // A command may use its full timeout before the connection is dropped.
      socketTimeout: Math.max(idleTimeoutMs, defaultTimeoutMs),
      // Jitter, so that clients do not reconnect at the same instant.
      reconnectStrategy: (tries) => random() * backoffMs(50, 2_000, tries + 1),
      ...(usesTls ? { tls: true as const, ...caOf(options) } : {}),
    },
  });
  const connection = watchConnection(redis, log, usesTls);

  const connected = redis.connect();
  // The library retries indefinitely, so this ends only with `close`.
  connected.catch(() => undefined);
  await withDeadline(
    clock,
    'Connecting to Valkey',
    options.firstConnectionMs ?? defaultFirstConnectionMs,
    () => connected,
  ).catch((error: unknown) => log.warn({ err: error }, 'starting without Valkey'));

  async function send(what: string, words: readonly string[], timeoutMs: number): Promise<unknown> {
    assertOutsideTransaction('Valkey');
    connection.assertAccepted();
    try {
      return await withDeadline(clock, what, timeoutMs, () => redis.sendCommand(words));
    } catch (error) {
      connection.report(error);
      throw error;
    }
  }

  function evaluate(
    command: 'EVAL' | 'EVALSHA',
    script: ValkeyScript,
    { keys, args, timeoutMs = defaultTimeoutMs }: Parameters<ValkeyClient['run']>[1],
  ): Promise<unknown> {
    const text = command === 'EVAL' ? script.source : script.sha1;
    return send(`Script ${script.name}`, [command, text, String(keys.length), ...keys, ...args], timeoutMs);
  }

  const client: ValkeyClient = {
    async run(script, call) {
      try {
        return await client.runLoaded(script, call);
      } catch (error) {
        if (!isScriptUnknown(error)) throw error;
        return evaluate('EVAL', script, call);
      }
    },
    runLoaded: (script, call) => evaluate('EVALSHA', script, call),
    command: (words, { timeoutMs = defaultTimeoutMs } = {}) =>
      send(`Command ${words[0] ?? ''}`, words, timeoutMs),
    async ping() {
      await client.command(['PING']);
    },
    async close() {
      if (redis.isReady) await redis.close();
      else redis.destroy();
    },
  };
  return client;
}
