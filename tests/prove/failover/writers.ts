import { systemClock } from '@millrace/platform/clock';
import { uniqueId } from '@millrace/testing';

/** Clients that change something, and repeat each request with its idempotency key until it has a final response. */

export interface Acknowledgement {
  readonly kind: WriteKind;
  /** Of the created resource. */
  readonly id: string;
  readonly idempotencyKey: string;
  readonly endedMs: number;
}

export type WriteKind = 'grant' | 'key' | 'revocation' | 'rental' | 'termination';

export interface WriteCounts {
  /** Responses 503 with Retry-After. */
  refused: number;
  /** Requests without any response. */
  unanswered: number;
  /** Requests whose first response was lost or 503, and that were found committed by their key. */
  settledAsCommitted: number;
  /** The same, executed by a repetition. */
  settledByRepetition: number;
}

/** A request without a final response, which was repeated with its key. */
export interface Interruption {
  readonly kind: WriteKind;
  /** Null without any response. */
  readonly status: number | null;
  readonly startedMs: number;
  readonly endedMs: number;
  readonly why: string;
}

export interface WriterLoad {
  readonly acknowledged: readonly Acknowledgement[];
  readonly interruptions: readonly Interruption[];
  readonly counts: Readonly<WriteCounts>;
  readonly failures: readonly string[];
  /** Resolves once each request has its final response. */
  end(): Promise<void>;
}

export interface WriterOptions {
  readonly url: string;
  readonly region: string;
  readonly operatorKey: string;
  /** Receives grants and does nothing else. */
  readonly grantedOrganisation: string;
  readonly tenantKey: string;
  /** Rents simulated machines. */
  readonly testKey: string;
  readonly writersPerKind: number;
  /** Responses of a proxy whose server died, which are repeated as lost responses are. */
  readonly lostStatuses?: readonly number[];
}

export const GRANT_NANO_USD = 1_000n;
export const KEY_PREFIX = 'failover ';
const PAUSE_MS = 50;
const REQUEST_TIMEOUT_MS = 60_000;
/** Longer than any failover. */
const GIVE_UP_MS = 240_000;
const FAILURES_MAX = 20;

interface Write {
  readonly kind: WriteKind;
  readonly key: string;
  readonly path: string;
  /** Null: a DELETE, which is idempotent without its key. */
  readonly body: object | null;
}

type Settled = { readonly status: number; readonly json: Record<string, unknown> };

export function startWriters(options: WriterOptions): WriterLoad {
  const load = new Writers(options);
  return {
    acknowledged: load.acknowledged,
    interruptions: load.interruptions,
    counts: load.counts,
    failures: load.failures,
    end: () => load.end(),
  };
}

class Writers {
  readonly acknowledged: Acknowledgement[] = [];
  readonly interruptions: Interruption[] = [];
  readonly failures: string[] = [];
  readonly counts: WriteCounts = {
    refused: 0,
    unanswered: 0,
    settledAsCommitted: 0,
    settledByRepetition: 0,
  };
  readonly #options: WriterOptions;
  readonly #clients: readonly Promise<void>[];
  #isOver = false;

  constructor(options: WriterOptions) {
    this.#options = options;
    const each = Array.from({ length: options.writersPerKind });
    this.#clients = [
      ...each.map(() => this.#repeat(() => this.#grant())),
      ...each.map(() => this.#repeat(() => this.#createKey())),
      ...each.map(() => this.#repeat(() => this.#rent())),
    ];
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#clients);
  }

  async #repeat(work: () => Promise<void>): Promise<void> {
    while (!this.#isOver && this.failures.length < FAILURES_MAX) {
      try {
        await work();
      } catch (error) {
        this.failures.push(error instanceof Error ? error.message : String(error));
      }
      await systemClock.sleep(PAUSE_MS);
    }
  }

  async #grant(): Promise<void> {
    const { operatorKey, grantedOrganisation } = this.#options;
    const path = `/v2/admin/organisations/${grantedOrganisation}/grants`;
    const body = { amountNanoUsd: String(GRANT_NANO_USD), reason: 'failover' };
    await this.#write(
      operatorKey,
      'grant',
      path,
      () => body,
      ({ json }) => String(json['id']),
    );
  }

  /** Revokes the key too, because an organisation has a limit of active keys. */
  async #createKey(): Promise<void> {
    const { tenantKey } = this.#options;
    const body = (key: string): object => ({ name: KEY_PREFIX + key, scopes: ['rentals:read'] });
    const idOfKey = ({ json }: Settled): string => String(json['id']);
    const id = await this.#write(tenantKey, 'key', '/v2/api-keys', body, idOfKey);
    await this.#write(tenantKey, 'revocation', `/v2/api-keys/${id}`, () => null, idOfKey);
  }

  async #rent(): Promise<void> {
    const { testKey, region } = this.#options;
    const path = '/v2/on-demand/virtual-machine-rentals';
    const rented = await this.#write(testKey, 'rental', path, () => ({ region, gpuCount: 1 }), idOfRental);
    if (rented === null) return systemClock.sleep(1_000);
    const body = { rentalId: Number(rented), reason: 'end of the scenario' };
    await this.#write(
      testKey,
      'termination',
      `${path}/terminate`,
      () => body,
      () => rented,
    );
  }

  async #write(
    apiKey: string,
    kind: WriteKind,
    path: string,
    bodyOf: (key: string) => object | null,
    idOf: (settled: Settled) => string | null,
  ): Promise<string | null> {
    const key = uniqueId();
    const settled = await this.#untilSettled(apiKey, { kind, key, path, body: bodyOf(key) });
    const id = idOf(settled);
    if (id !== null) {
      this.acknowledged.push({ kind, id, idempotencyKey: key, endedMs: systemClock.monotonicMs() });
    }
    return id;
  }

  /** 503 with Retry-After and lost responses are repeated with the same key. Every other failure is one of the product. */
  async #untilSettled(apiKey: string, write: Write): Promise<Settled> {
    const untilMs = systemClock.monotonicMs() + GIVE_UP_MS;
    const { lostStatuses = [] } = this.#options;
    let mayBeCommitted = false;
    for (;;) {
      const startedMs = systemClock.monotonicMs();
      const response = await this.#send(apiKey, write).catch(() => null);
      const text = await response?.text().catch(() => null);
      const interrupt = (status: number | null): void => {
        const why = text?.slice(0, 200) ?? 'no response';
        const endedMs = systemClock.monotonicMs();
        this.interruptions.push({ kind: write.kind, status, startedMs, endedMs, why });
      };
      if (response == null || text == null || lostStatuses.includes(response.status)) {
        this.counts.unanswered += 1;
        interrupt(response?.status ?? null);
      } else if (response.status === 503 && response.headers.has('retry-after')) {
        this.counts.refused += 1;
        interrupt(503);
      } else if (!isInProgress(response.status, text)) {
        const isReplayed = response.headers.get('idempotent-replayed') === 'true';
        if (mayBeCommitted) this.counts[isReplayed ? 'settledAsCommitted' : 'settledByRepetition'] += 1;
        return settle(write, response.status, text);
      }
      mayBeCommitted = true;
      if (systemClock.monotonicMs() > untilMs) {
        throw new Error(`a ${write.kind} had no final response: ${response?.status} ${text?.slice(0, 200)}`);
      }
      await systemClock.sleep(Math.max(0.2, Number(response?.headers.get('retry-after') ?? 0)) * 1_000);
    }
  }

  #send(apiKey: string, { path, body, key }: Write): Promise<Response> {
    return fetch(this.#options.url + path, {
      method: body === null ? 'DELETE' : 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'idempotency-key': key,
        ...(body !== null && { 'content-type': 'application/json' }),
      },
      body: body === null ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
  }
}

/** The first request with this key is still in progress. */
function isInProgress(status: number, text: string): boolean {
  return status === 409 && text.includes('"IDEMPOTENCY_IN_PROGRESS"');
}

function settle({ kind, path }: Write, status: number, text: string): Settled {
  const json = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  const isFull = kind === 'rental' && json['reason'] === 'INSUFFICIENT_CAPACITY';
  if ((status < 200 || status > 299) && !isFull) {
    throw new Error(`a ${kind} got ${status} at ${path}: ${text.slice(0, 300)}`);
  }
  return { status, json };
}

function idOfRental({ status, json }: Settled): string | null {
  return status === 200 ? String(json['id']) : null;
}
