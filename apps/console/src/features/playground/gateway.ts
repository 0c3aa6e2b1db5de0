import type { TabKey } from '../../api/tab-keys.ts';

/**
 * The way from the browser to a gateway. Gateways take API keys and nothing else, so the console makes one that lasts an hour
 * and can do nothing but call models, keeps it for the tab alone, and makes the next when it is needed.
 */

export interface GatewayDeps<Client> {
  /** The key that an earlier load of the page has left for this tab, if it still works by its time. */
  storedKey(): TabKey | null;
  makeKey(): Promise<TabKey>;
  /** The key is refused: it must not be found again. */
  discardKey(): void;
  clientOf(secret: string): Client;
  nowMs(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export interface Gateway<Client> {
  /** Calls with a key that works. What `use` does must be safe to do again after a 401: nothing has happened then. */
  call<Result>(use: (client: Client) => Promise<Result>, signal?: AbortSignal): Promise<Result>;
}

/** A key that ends within a minute is not begun with. */
export const EXPIRY_MARGIN_MS = 60_000;
/** A new key is known to all gateways after this. */
const KEY_PROPAGATION_MS = 10_000;
/** Waits while a new key is on its way to the gateways; few, for refused keys are counted. */
const RETRY_DELAYS_MS = [100, 200, 400, 800, 1_600] as const;

interface ActiveKey<Client> {
  readonly client: Client;
  readonly madeAtMs: number;
  readonly expiresAtMs: number;
  /** It worked once and does no more: somebody revoked it. */
  isRefused: boolean;
}

export function createGateway<Client>(deps: GatewayDeps<Client>): Gateway<Client> {
  // A promise, so that two calls at once make one key.
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
    // Whoever waited for the same one and came first has begun to make the next.
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

/** Keys of earlier visits that have ended. They do no harm but count against how many an organisation may have. */
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

/** Whether the playground made a key: it is of no use to anything else. */
export function isPlaygroundKey(key: {
  readonly name: string;
  readonly createdAt: string;
  readonly expiresAt: string | null;
}): boolean {
  if (key.name !== playgroundKeyName || key.expiresAt === null) return false;
  return Date.parse(key.expiresAt) - Date.parse(key.createdAt) <= playgroundKeyMs + EXPIRY_MARGIN_MS;
}
