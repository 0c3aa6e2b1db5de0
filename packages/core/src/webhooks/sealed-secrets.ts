import type { WebhookId } from '@millrace/platform/ids';
import { SealedSecretError, type SealContext, type Sealer } from '@millrace/platform/secrets';
import type { SealedSecrets } from './webhook.ts';

/** Where secrets are kept, and so the only place where each of them opens. */

const columns = { current: 'secret_sealed', previous: 'previous_secret_sealed' } as const;

function sealContextOf(id: WebhookId, which: keyof typeof columns): SealContext {
  return { table: 'webhooks', column: columns[which], rowId: id };
}

export function sealSecret(sealer: Sealer, id: WebhookId, which: keyof typeof columns, text: string): string {
  return sealer.seal(text, sealContextOf(id, which));
}

/**
 * The current secret sealed as the previous one, for a rotation. Null when it cannot be opened, because the key it was
 * sealed with is lost: then a new secret is all the more needed.
 */
export function sealAsPrevious(sealer: Sealer, id: WebhookId, { current }: SealedSecrets): string | null {
  try {
    return sealSecret(sealer, id, 'previous', sealer.open(current, sealContextOf(id, 'current')));
  } catch (error) {
    if (error instanceof SealedSecretError) return null;
    throw error;
  }
}

/** Those that sign now, the newest first. */
export function openSecrets(
  sealer: Sealer,
  id: WebhookId,
  { current, previous }: SealedSecrets,
  now: Date,
): readonly string[] {
  const newest = sealer.open(current, sealContextOf(id, 'current'));
  if (previous === null || previous.until <= now) return [newest];
  return [newest, sealer.open(previous.sealed, sealContextOf(id, 'previous'))];
}

/** Under the key that is active now; null when they are. */
export function resealIfOutdated(sealer: Sealer, id: WebhookId, old: SealedSecrets): SealedSecrets | null {
  const { current, previous } = old;
  const sealed = previous === null ? [current] : [current, previous.sealed];
  if (!sealed.some((text) => sealer.needsRotation(text))) return null;
  return {
    current: sealer.reseal(current, sealContextOf(id, 'current')),
    previous:
      previous === null
        ? null
        : { sealed: sealer.reseal(previous.sealed, sealContextOf(id, 'previous')), until: previous.until },
  };
}
