import type { TabKey } from '../../api/tab-keys.ts';

/**
 * Calls gateways from the browser. They accept only API keys, so the console creates one-hour keys that can only call
 * models and keeps them in the tab.
 */

export interface GatewayDeps<Client> {
  /** Unexpired key from an earlier load of this tab. */
  storedKey(): TabKey | null;
  makeKey(): Promise<TabKey>;
  discardKey(): void;
  clientOf(secret: string): Client;
  nowMs(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export interface Gateway<Client> {
  /** Calls `use` with a valid key. `use` must be safe to repeat after a 401. */
  call<Result>(use: (client: Client) => Promise<Result>, signal?: AbortSignal): Promise<Result>;
}

/** Keys that expire sooner are not used. */
export const EXPIRY_MARGIN_MS = 60_000;
/** After this time all gateways know a new key. */
const KEY_PROPAGATION_MS = 10_000;
/** Retry delays for a new key; few, because rejected keys are counted. */
const RETRY_DELAYS_MS = [100, 200, 400, 800, 1_600] as const;

interface ActiveKey<Client> {
  readonly client: Client;
  readonly madeAtMs: number;
  readonly expiresAtMs: number;
  /** The key worked before, so it was revoked. */
  isRefused: boolean;
}

export function createGateway<Client>(deps: GatewayDeps<Client>): Gateway<Client> {
  // Stored as a promise, so that concurrent calls share one key.
  let held: Promise<ActiveKey<Client>> | null = null;

  async function make(): Promise<ActiveKey<Client>> {
    const { secret, madeAtMs, expiresAtMs } = deps.storedKey() ?? (await deps.makeKey());
    return { client: deps.clientOf(secret), madeAtMs, expiresAtMs, isRefused: false };
  }

  async function current(): Promise<ActiveKey<Client>> {
    const before = held;
    const known = (await before?.catch(() => null)) ?? null;
    if (known !== null && !known.isRefused && known.expiresAtMs - EXPIRY_MARGIN_MS > deps.nowMs())
      return known;
    // Another call may already be creating the next key.
    if (held === null || held === before) held = make();
    return held;
  }

  return {
    async call(use, signal) {
      let key = await current();
      let renewed = false;
      for (let tried = 0; ; tried += 1) {
        try {
          return await use(key.client);
        } catch (error) {
          if (!isUnauthenticated(error)) throw error;
          const waitMs = RETRY_DELAYS_MS[tried];
          const isYoung = deps.nowMs() - key.madeAtMs < KEY_PROPAGATION_MS;
          if (isYoung && waitMs !== undefined) {
            await deps.sleep(waitMs, signal);
            continue;
          }
          if (isYoung || renewed) throw error;
          renewed = true;
          tried = -1;
          key.isRefused = true;
          deps.discardKey();
          key = await current();
        }
      }
    },
  };
}

function isUnauthenticated(error: unknown): boolean {
  return error instanceof Error && 'status' in error && error.status === 401;
}

interface ListedKey {
  readonly id: string;
  readonly name: string;
  readonly createdBy: string;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
}

export const playgroundKeyName = 'Playground';
export const playgroundKeyMs = 3_600_000;

/** Expired playground keys, which still count against the key limit of the organisation. */
export function expiredPlaygroundKeys(
  keys: readonly ListedKey[],
  userId: string,
  nowMs: number,
): readonly string[] {
  return keys
    .filter(
      ({ name, createdBy, expiresAt, revokedAt }) =>
        name === playgroundKeyName &&
        createdBy === userId &&
        revokedAt === null &&
        expiresAt !== null &&
        Date.parse(expiresAt) <= nowMs,
    )
    .map(({ id }) => id);
}

export function isPlaygroundKey(key: {
  readonly name: string;
  readonly createdAt: string;
  readonly expiresAt: string | null;
}): boolean {
  if (key.name !== playgroundKeyName || key.expiresAt === null) return false;
  return Date.parse(key.expiresAt) - Date.parse(key.createdAt) <= playgroundKeyMs + EXPIRY_MARGIN_MS;
}
