import type { Item } from '@millrace/sdk';
import { elapsedText } from '@millrace/sdk/text';

export type Webhook = Item<'listWebhooks'>;
export type Delivery = Item<'listWebhookDeliveries'>;
export type DeliveryStatus = Delivery['status'];

export const deliveryStatuses = [
  'pending',
  'succeeded',
  'failed',
  'abandoned',
] as const satisfies readonly DeliveryStatus[];

export const statusLabels: Readonly<Record<DeliveryStatus, string>> = {
  pending: 'On its way',
  succeeded: 'Accepted',
  failed: 'Given up',
  abandoned: 'Not sent',
};

/** How a webhook does, in words. */
export function webhookHealth({ status, disabledReason, failingSince, lastSucceededAt }: Webhook): {
  readonly tone: 'good' | 'warn' | 'bad' | 'plain';
  readonly label: string;
  readonly why: string | null;
} {
  if (status === 'disabled') {
    return { tone: 'bad', label: 'off', why: disabledReason ?? 'Nothing is sent to it.' };
  }
  if (failingSince !== null) {
    return {
      tone: 'warn',
      label: 'failing',
      why: 'Nothing is accepted. It is tried again for a day and a half, and switched off after five days.',
    };
  }
  return lastSucceededAt === null
    ? { tone: 'plain', label: 'on', why: 'Nothing was sent to it yet.' }
    : { tone: 'good', label: 'on', why: null };
}

/** What came of one attempt. */
export function attemptText({ httpStatus, error, durationMs }: Delivery['attempts'][number]): string {
  const response = httpStatus === null ? null : `answered ${String(httpStatus)}`;
  const outcome = [response, error?.replace(/\.$/, '')].filter((part) => typeof part === 'string').join(': ');
  return `${outcome === '' ? 'no answer' : outcome}, after ${elapsedText(durationMs)}`;
}

/** Something is being sent or waits, so the list is looked at again soon. */
export const hasPendingDeliveries = (deliveries: readonly Pick<Delivery, 'status'>[]): boolean =>
  deliveries.some(({ status }) => status === 'pending');

/** What was typed as the address of a webhook, or what is wrong with it. */
export function urlIssue(typed: string): string | undefined {
  const text = typed.trim();
  if (!URL.canParse(text)) return 'A whole address, such as https://example.com/hooks/millrace.';
  return new URL(text).protocol === 'https:' ? undefined : 'It must begin with https://.';
}

/** The number after which to send again: `88213`; undefined when it is none. */
export function parseSequence(typed: string): number | undefined {
  const text = typed.trim().replaceAll(/[,_ ]/g, '');
  const value = Number(text);
  return /^\d{1,16}$/.test(text) && Number.isSafeInteger(value) ? value : undefined;
}

/** How to check that what arrives is ours, in a program of one's own. */
export const verifySnippet = `import { verifyWebhook } from '@millrace/sdk/webhooks';

// rawBody: the bytes as they arrived, not an object made from them.
const event = await verifyWebhook({
  payload: rawBody,
  headers: request.headers,
  secret: process.env.MILLRACE_WEBHOOK_SECRET,
});
// Answer 2xx within 15 seconds; the same event.id may come again.`;

export const standardSnippet = `from standardwebhooks.webhooks import Webhook

event = Webhook(secret).verify(raw_body, headers)`;
