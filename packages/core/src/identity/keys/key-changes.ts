import type { Envelope } from '@millrace/platform/envelope';
import { parseId, type OrgId } from '@millrace/platform/ids';
import type { NatsClient, NatsSubscription } from '@millrace/platform/nats';

/** A change that cached keys depend on. Notifications only reduce the delay: caches expire within a second without them. */
export type KeyChange =
  | { readonly kind: 'keys'; readonly publicIds: readonly string[] }
  | { readonly kind: 'organisation'; readonly orgId: OrgId };

/** Called after the commit. The caller's response waits for it, so it must be quick and must not fail. */
export type PublishKeyChange = (change: KeyChange) => void | Promise<void>;

/** The same subject in every process of an installation; a prefix separates tests. */
export function keyChangeSubject(prefix = ''): string {
  return prefix === '' ? 'identity.key-changes' : `${prefix}.identity.key-changes`;
}

/** Notifies all processes. Not stored: a process that misses it relies on the age limit of its cache. */
export function createKeyChangePublisher(
  nats: Pick<NatsClient, 'notify'>,
  options: { readonly subject: string; readonly envelope: Envelope },
): PublishKeyChange {
  return (change) => nats.notify(options.subject, change, options.envelope);
}

export function subscribeToKeyChanges(
  nats: Pick<NatsClient, 'subscribe'>,
  subject: string,
  onChange: PublishKeyChange,
): NatsSubscription {
  return nats.subscribe(subject, {}, async (message) => {
    const change = parseKeyChange(message.json());
    if (change !== null) await onChange(change);
  });
}

/**
 * Also follows `key.revoked` events. They arrive later than the direct notification, but come from the outbox, so also when the
 * process that revoked the key died right after its commit.
 */
export function subscribeToRevocations(
  nats: Pick<NatsClient, 'subscribe'>,
  subject: string,
  onChange: PublishKeyChange,
): NatsSubscription {
  return nats.subscribe(subject, {}, async (message) => {
    const publicId = publicIdOf(message.json());
    if (publicId !== null) await onChange({ kind: 'keys', publicIds: [publicId] });
  });
}

function publicIdOf(event: unknown): string | null {
  if (typeof event !== 'object' || event === null || !('data' in event)) return null;
  const { data } = event;
  if (typeof data !== 'object' || data === null || !('publicId' in data)) return null;
  return typeof data.publicId === 'string' ? data.publicId : null;
}

/** Null for any other message: an unknown sender can at most cause an extra look-up. */
export function parseKeyChange(payload: unknown): KeyChange | null {
  if (typeof payload !== 'object' || payload === null || !('kind' in payload)) return null;
  if (payload.kind === 'keys' && 'publicIds' in payload && Array.isArray(payload.publicIds)) {
    return { kind: 'keys', publicIds: payload.publicIds.filter((id) => typeof id === 'string') };
  }
  if (payload.kind === 'organisation' && 'orgId' in payload && typeof payload.orgId === 'string') {
    const orgId = parseId('org', payload.orgId);
    return orgId === null ? null : { kind: 'organisation', orgId };
  }
  return null;
}
