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

/** Cached per user, organisation and mode until the page is left. */
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
  // A repeated request returns no secret; only the lost response had it.
  if (made.key === null) throw new Error('The response with the key was lost. Try again.');
  // Runs in the background; the next page load removes what remains.
  revokeExpiredKeys(client, me.user.id).catch(() => undefined);
  return { secret: made.key, madeAtMs, expiresAtMs };
}

async function revokeExpiredKeys(client: Millrace, userId: string): Promise<void> {
  const { items } = await client.keys.list({ limit: 100 });
  for (const keyId of expiredPlaygroundKeys(items, userId, nowMs())) await client.keys.revoke({ keyId });
}

/** Gateway URL for calls and code snippets; null while loading. */
export function useInferenceUrl(): string | null {
  const installation = useInstallation();
  return installation.data === undefined
    ? null
    : (installation.data.inferenceUrl ?? globalThis.location.origin);
}

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
  if (gateway === null) throw new Error('The gateway URL is not loaded yet.');
  return gateway;
}

/** Models that this organisation can call, including contract models. */
export function useCallableModels() {
  const gateway = useGateway();
  return useApiQuery(
    ['models', 'callable'],
    (_, signal) => requireGateway(gateway).call((client) => client.models.list({}, { signal }).all(), signal),
    { enabled: gateway !== null },
  );
}

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
