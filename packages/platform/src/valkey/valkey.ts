import { createClient } from '@redis/client';
import { backoffMs, systemClock, withDeadline, type Timer } from '../clock/index.ts';
import { assertOutsideTransaction } from '../db/index.ts';
import type { Logger } from '../log/index.ts';
import type { ValkeyScript } from './script.ts';

export interface ValkeyOptions {
  /** `redis://` or, for TLS, `rediss://`; credentials are part of it. */
  readonly url: string;
  /** Shown by `CLIENT LIST`. */
  readonly name: string;
  readonly log: Pick<Logger, 'warn' | 'info'>;
  readonly clock?: Timer;
  /** PEM of the authority that signed the server's certificate, when it is not a public one. */
  readonly tlsCa?: string;
  /**
   * The longest a command may take, unless the call says otherwise. A connection is given up when its server says nothing
   * for this long, or for three seconds if that is longer.
   */
  readonly commandTimeoutMs?: number;
  /** How long to wait for the first connection before going on without one. */
  readonly firstConnectionMs?: number;
  /** From 0 up to 1; spreads reconnections. */
  readonly random?: () => number;
}

export interface ValkeyClient {
  /** Runs a script atomically on the server. Sends its digest, and the text only when the server has lost it. */
  run(
    script: ValkeyScript,
    call: { readonly keys: readonly string[]; readonly args: readonly string[]; readonly timeoutMs?: number },
  ): Promise<unknown>;
  /**
   * The same by digest alone: a server that does not have the script refuses with `NOSCRIPT` (see `isScriptUnknown`).
   * For scripts whose being there proves something about the server.
   */
  runLoaded(
    script: ValkeyScript,
    call: { readonly keys: readonly string[]; readonly args: readonly string[]; readonly timeoutMs?: number },
  ): Promise<unknown>;
  /** One plain command, such as `['GET', key]`. */
  command(words: readonly string[], options?: { readonly timeoutMs?: number }): Promise<unknown>;
  /** Resolves when the server answers. */
  ping(): Promise<void>;
  /** Lets what is under way finish, then disconnects. */
  close(): Promise<void>;
}

const defaultCommandTimeoutMs = 500;
const defaultFirstConnectionMs = 5_000;
const connectTimeoutMs = 2_000;
// A server that stopped without closing its sockets is noticed within these times, also when nobody sends commands.
const pingEveryMs = 1_000;
const idleTimeoutMs = 3_000;
const maxQueuedCommands = 10_000;

/** Whether a server refused a script because it does not have it. It has then done nothing. */
export function isScriptUnknown(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}

/**
 * Connects and stays connected. Without a connection every command fails at once instead of waiting for one: a
 * caller of Valkey always has an answer for "not now", and a queue would only make it a late one. So this also
 * resolves when the server cannot be reached yet.
 */
export async function connectValkey(options: ValkeyOptions): Promise<ValkeyClient> {
  const { clock = systemClock, random = Math.random, log } = options;
  const defaultTimeoutMs = options.commandTimeoutMs ?? defaultCommandTimeoutMs;
  const redis = createClient({
    url: options.url,
    name: options.name,
    disableOfflineQueue: true,
    commandsQueueMaxLength: maxQueuedCommands,
    pingInterval: pingEveryMs,
    // The library's own timeout ends with the writing to the socket, while its timer and signal stay for their full
    // time, answered or not. `send` below bounds the whole command, and clears its timer.
    commandOptions: { timeout: 0 },
    socket: {
      connectTimeout: connectTimeoutMs,
      // A command may take its full time: the connection is not given up before.
      socketTimeout: Math.max(idleTimeoutMs, defaultTimeoutMs),
      // Never at the same instant as everyone else.
      reconnectStrategy: (tries) => random() * backoffMs(50, 2_000, tries + 1),
      ...(options.tlsCa === undefined ? {} : { tls: true as const, ca: options.tlsCa }),
    },
  });
  let reachable = true;
  redis.on('error', (error: unknown) => {
    // One line for each loss and none for each failed attempt at getting it back.
    if (reachable) log.warn({ err: error }, 'the connection to Valkey was lost');
    reachable = false;
  });
  redis.on('ready', () => {
    if (!reachable) log.info({}, 'the connection to Valkey is back');
    reachable = true;
  });

  const connected = redis.connect();
  // The library never gives up by itself; this ends only with `close`.
  connected.catch(() => undefined);
  await withDeadline(
    clock,
    'Connecting to Valkey',
    options.firstConnectionMs ?? defaultFirstConnectionMs,
    () => connected,
  ).catch((error: unknown) => log.warn({ err: error }, 'starting without Valkey'));

  async function send(what: string, words: readonly string[], timeoutMs: number): Promise<unknown> {
    assertOutsideTransaction('Valkey');
    return withDeadline(clock, what, timeoutMs, () => redis.sendCommand(words));
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
