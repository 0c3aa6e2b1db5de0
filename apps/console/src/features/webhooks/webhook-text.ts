import type { Item } from '@millrace/sdk';
import { elapsedText } from '@millrace/sdk/text';
import { withLocalTimes } from '../../ui/logic/local-times.ts';

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
  pending: 'Pending or retrying',
  succeeded: 'Succeeded',
  failed: 'Failed',
  abandoned: 'Cancelled',
};

/** The reason that the service gives if a person disabled the webhook. */
const DISABLED_BY_OWNER = 'Disabled by its owner.';

/** A webhook that a person disabled is not a fault. */
export function isFaulty({ status, disabledReason, failingSince }: Webhook): boolean {
  if (status !== 'disabled') return failingSince !== null;
  return disabledReason !== null && disabledReason !== DISABLED_BY_OWNER;
}

export function webhookHealth({ status, disabledReason, failingSince, lastSucceededAt }: Webhook): {
  readonly tone: 'good' | 'warn' | 'bad' | 'plain';
  readonly label: string;
  readonly why: string | null;
} {
  if (status === 'disabled') {
    return { tone: 'bad', label: 'disabled', why: withLocalTimes(disabledReason ?? 'No events are sent.') };
  }
  if (failingSince !== null) {
    return {
      tone: 'warn',
      label: 'failing',
      why: 'Its list of deliveries has the error of each attempt. A delivery is retried for a day and a half, and after five days the webhook is disabled.',
    };
  }
  return lastSucceededAt === null
    ? { tone: 'plain', label: 'enabled', why: 'No deliveries yet.' }
    : { tone: 'good', label: 'enabled', why: null };
}

export function attemptText({ httpStatus, error, durationMs }: Delivery['attempts'][number]): string {
  const response = httpStatus === null ? null : `status ${String(httpStatus)}`;
  const outcome = [response, error?.replace(/\.$/, '')].filter((part) => typeof part === 'string').join(': ');
  return `${outcome === '' ? 'no response' : outcome}, after ${elapsedText(durationMs)}`;
}

/** An attempt has failed and another follows. The API status is `pending` as before the first attempt. */
export const isRetrying = ({ status, attempts }: Pick<Delivery, 'status' | 'attempts'>): boolean =>
  status === 'pending' && attempts.length > 0;

/** While a delivery is pending, the list is polled more often. */
export const hasPendingDeliveries = (deliveries: readonly Pick<Delivery, 'status'>[]): boolean =>
  deliveries.some(({ status }) => status === 'pending');

/** Validation message for the endpoint URL. */
export function urlIssue(typed: string): string | undefined {
  const text = typed.trim();
  if (!URL.canParse(text)) return 'Enter a full URL, such as https://example.com/hooks/millrace.';
  return new URL(text).protocol === 'https:' ? undefined : 'Enter a URL that starts with https://.';
}

/** The event number to resend after: `88213`; undefined if invalid. */
export function parseSequence(typed: string): number | undefined {
  const text = typed.trim().replaceAll(/[,_ ]/g, '');
  const value = Number(text);
  return /^\d{1,16}$/.test(text) && Number.isSafeInteger(value) ? value : undefined;
}

/** Verification code for the user's endpoint. */
export const verifySnippet = `import { verifyWebhook } from '@millrace/sdk/webhooks';

// rawBody: the received bytes, not a parsed object.
const event = await verifyWebhook({
  payload: rawBody,
  headers: request.headers,
  secret: process.env.MILLRACE_WEBHOOK_SECRET,
});
// Respond with 2xx within 15 seconds. The same event.id may arrive again.`;

export const standardSnippet = `from standardwebhooks.webhooks import Webhook

event = Webhook(secret).verify(raw_body, headers)`;
