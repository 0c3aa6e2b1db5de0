import type { WebhookId } from '@millrace/platform/ids';
import { SealedSecretError, type SealContext, type Sealer } from '@millrace/platform/secrets';
import type { SealedSecrets } from './webhook.ts';

/** Seals webhook secrets. Each opens only for its own row and column. */

const columns = { current: 'secret_sealed', previous: 'previous_secret_sealed' } as const;

function sealContextOf(id: WebhookId, which: keyof typeof columns): SealContext {
  return { table: 'webhooks', column: columns[which], rowId: id };
}

export function sealSecret(sealer: Sealer, id: WebhookId, which: keyof typeof columns, text: string): string {
  return sealer.seal(text, sealContextOf(id, which));
}

/** The current secret, sealed as the previous one. Null when its key is lost: rotation must still be possible. */
export function sealAsPrevious(sealer: Sealer, id: WebhookId, { current }: SealedSecrets): string | null {
  try {
    return sealSecret(sealer, id, 'previous', sealer.open(current, sealContextOf(id, 'current')));
  } catch (error) {
    if (error instanceof SealedSecretError) return null;
    throw error;
  }
}

/** The secrets that sign now, newest first. */
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

/** The secrets resealed with the active key; null when they use it already. */
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
