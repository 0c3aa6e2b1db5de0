import type { Envelope } from '@millrace/platform/envelope';
import { parseId, type OrgId } from '@millrace/platform/ids';
import type { NatsClient, NatsSubscription } from '@millrace/platform/nats';

/**
 * Something a cached key depends on has changed. These messages only make it prompt: every cache forgets by itself
 * well within a second, so that a lost message, a dead NATS or a dead worker delays nothing beyond that.
 */
export type KeyChange =
  | { readonly kind: 'keys'; readonly publicIds: readonly string[] }
  | { readonly kind: 'organisation'; readonly orgId: OrgId };

/** Called after the commit; the caller's answer waits for it, so it takes little time and fails for nobody. */
export type PublishKeyChange = (change: KeyChange) => void | Promise<void>;

/** The subject is the same in every process of an installation; a prefix keeps tests apart. */
export function keyChangeSubject(prefix = ''): string {
  return prefix === '' ? 'identity.key-changes' : `${prefix}.identity.key-changes`;
}

/** Tells every process at once. Nothing is stored: whoever is not listening finds out by forgetting. */
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
 * Listens to the `key.revoked` events on their way through the stream as well. They come later than the direct call,
 * but they come from the outbox, so also when the process that revoked the key died right after its commit.
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

/** Null for anything that is not such a message: a stranger on the bus can at most make us look a key up again. */
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
