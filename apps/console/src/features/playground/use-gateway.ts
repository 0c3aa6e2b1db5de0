import { Millrace } from '@millrace/sdk';
import { useMemo } from 'react';
import { nowMs, sleep } from '../../api/clock.ts';
import { useApiQuery } from '../../api/queries.ts';
import { removeTabKeys, storeTabKey, readTabKey, type TabKey } from '../../api/tab-keys.ts';
import { useInstallation, useSession, type Session } from '../../api/session.tsx';
import {
  createGateway,
  expiredPlaygroundKeys,
  EXPIRY_MARGIN_MS,
  playgroundKeyMs,
  playgroundKeyName,
  type Gateway,
} from './gateway.ts';

/** By person, organisation and mode, until the page is left. */
const gateways = new Map<string, Gateway<Millrace>>();

async function makeKey({ client, place, me }: Session): Promise<TabKey> {
  const madeAtMs = nowMs();
  const expiresAtMs = madeAtMs + playgroundKeyMs;
  const made = await client.keys.create({
    name: playgroundKeyName,
    scopes: ['inference:read', 'inference:write'],
    expiresAt: new Date(expiresAtMs).toISOString(),
    mode: place.mode,
  });
  // Sent twice because its answer was lost: the secret was in that answer alone.
  if (made.key === null) throw new Error('The answer with the key was lost on its way.');
  // Nobody waits for it, and what is not tidied up now is the next time.
  revokeExpiredKeys(client, me.user.id).catch(() => undefined);
  return { secret: made.key, madeAtMs, expiresAtMs };
}

async function revokeExpiredKeys(client: Millrace, userId: string): Promise<void> {
  const { items } = await client.keys.list({ limit: 100 });
  for (const keyId of expiredPlaygroundKeys(items, userId, nowMs())) await client.keys.revoke({ keyId });
}

/** Where gateways are, for calls and for the code that is shown; null until that is known. */
export function useInferenceUrl(): string | null {
  const installation = useInstallation();
  return installation.data === undefined
    ? null
    : (installation.data.inferenceUrl ?? globalThis.location.origin);
}

/** Null until it is known where gateways are. */
export function useGateway(): Gateway<Millrace> | null {
  const session = useSession();
  const inferenceUrl = useInferenceUrl();
  return useMemo(() => {
    if (inferenceUrl === null) return null;
    const { place, me } = session;
    const name = [me.user.id, place.organisationId, place.mode].join(' ');
    const known = gateways.get(name);
    if (known !== undefined) return known;
    const made = createGateway<Millrace>({
      storedKey: () => readTabKey(sessionStorage, name, { nowMs: nowMs(), marginMs: EXPIRY_MARGIN_MS }),
      makeKey: async () => {
        const key = await makeKey(session);
        storeTabKey(sessionStorage, name, key);
        return key;
      },
      discardKey: () => removeTabKeys(sessionStorage, name),
      clientOf: (apiKey) =>
        new Millrace({ baseUrl: globalThis.location.origin, inferenceUrl, apiKey, allowBrowser: true }),
      nowMs,
      sleep,
    });
    gateways.set(name, made);
    return made;
  }, [session, inferenceUrl]);
}

function requireGateway(gateway: Gateway<Millrace> | null): Gateway<Millrace> {
  if (gateway === null) throw new Error('Where the gateway is has not been found out yet.');
  return gateway;
}

/** What this organisation can call, with contracts of its own. */
export function useCallableModels() {
  const gateway = useGateway();
  return useApiQuery(
    ['models', 'callable'],
    (_, signal) => requireGateway(gateway).call((client) => client.models.list({}, { signal }).all(), signal),
    { enabled: gateway !== null },
  );
}

/** What a model costs this organisation now. */
export function useModelPrice(name: string | undefined) {
  const gateway = useGateway();
  return useApiQuery(
    ['models', 'price', name],
    (_, signal) =>
      requireGateway(gateway).call(
        async (client) => client.models.getPrice({ name: name ?? '' }, { signal }),
        signal,
      ),
    { enabled: gateway !== null && name !== undefined },
  );
}
