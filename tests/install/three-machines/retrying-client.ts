import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';

/** A client of an installation with an address for each machine. It repeats as the documentation of the SDK says. */

export interface Sent {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly key?: string;
  readonly body?: object;
  /** A chat may have been charged if a machine or process was lost before its answer arrived, so it is not repeated then. */
  readonly isChat?: boolean;
}

const PUBLIC_NAME = 'cloud.example.com';
/** Without an answer then, the client uses another machine. */
const ATTEMPT_MS = 5_000;
const CONNECT_MS = 1_000;
const PAUSE_MS = 200;
/** Longer than a failover on a slow machine. */
const GIVE_UP_MS = 240_000;

/** A chat without an answer: the caller asks again, as a person does. */
export class LostChatError extends Error {}

export class RetryingClient {
  readonly #addresses: readonly string[];
  readonly #agents: ReadonlyMap<string, Agent>;
  readonly #onRepeat: (reason: string) => void;
  #current: string;

  constructor(addresses: readonly string[], ca: string, onRepeat: (reason: string) => void) {
    const connect = { ca, servername: PUBLIC_NAME, timeout: CONNECT_MS };
    this.#addresses = addresses;
    this.#agents = new Map(addresses.map((address) => [address, new Agent({ connect })]));
    this.#onRepeat = onRepeat;
    this.#current = addresses[0] ?? '';
  }

  /** The machine of all requests that begin now. */
  use(address: string): void {
    this.#current = address;
  }

  /** Returns the text of a successful answer. */
  async send(sent: Sent): Promise<string> {
    const idempotencyKey = sent.method === 'POST' && sent.isChat !== true ? randomUUID() : null;
    const deadlineMs = performance.now() + GIVE_UP_MS;
    for (;;) {
      const address = this.#current;
      const { status, text } = await this.#attempt(address, sent, idempotencyKey);
      if (status !== null && status < 300) return text;
      const reason = status === null ? text : `${String(status)} ${reasonIn(text)}`;
      if (!mayRepeat(status, text))
        throw new Error(`${sent.method} ${sent.path} got ${reason}: ${text.slice(0, 300)}`);
      if (performance.now() > deadlineMs)
        throw new Error(`${sent.method} ${sent.path} had no answer; the last was ${reason}`);
      this.#onRepeat(reason);
      if (status === null) this.#leave(address);
      if (sent.isChat === true && status !== 503 && !isRefused(text)) throw new LostChatError(reason);
      await sleep(PAUSE_MS);
    }
  }

  /** Status null: no answer arrived, and the text says why. */
  async #attempt(
    address: string,
    { method, path, key, body }: Sent,
    idempotencyKey: string | null,
  ): Promise<{ readonly status: number | null; readonly text: string }> {
    try {
      const dispatcher = this.#agents.get(address);
      const response = await request(`https://${address}${path}`, {
        ...(dispatcher === undefined ? {} : { dispatcher }),
        method,
        headers: {
          host: PUBLIC_NAME,
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(idempotencyKey === null ? {} : { 'idempotency-key': idempotencyKey }),
        },
        body: body === undefined ? null : JSON.stringify(body),
        signal: AbortSignal.timeout(ATTEMPT_MS),
      });
      return { status: response.statusCode, text: await response.body.text() };
    } catch (error) {
      return { status: null, text: codeOf(error) };
    }
  }

  #leave(address: string): void {
    // Another request may have left it already.
    if (this.#current !== address) return;
    const index = this.#addresses.indexOf(address);
    this.#current = this.#addresses[(index + 1) % this.#addresses.length] ?? address;
  }
}

const isRefused = (code: string): boolean => code === 'ECONNREFUSED' || code === 'UND_ERR_CONNECT_TIMEOUT';

/** A 500 is never repeated. 502 comes from the proxy for a request whose process was killed. */
function mayRepeat(status: number | null, text: string): boolean {
  if (status === null || status === 502 || status === 503 || status === 504) return true;
  return status === 409 && text.includes('IDEMPOTENCY_IN_PROGRESS');
}

function reasonIn(text: string): string {
  const [, reason = ''] = /"(?:reason|code)":"(\w+)"/.exec(text) ?? [];
  return reason;
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : error.name;
}
