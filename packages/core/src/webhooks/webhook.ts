import type { Mode } from '@millrace/platform/envelope';
import type { DeliveryId, EventId, OrgId, UserId, WebhookId } from '@millrace/platform/ids';

/** Where an organisation wants its events sent. */
export interface Webhook {
  readonly id: WebhookId;
  readonly orgId: OrgId;
  /** Events of this mode are sent, and no others. */
  readonly mode: Mode;
  readonly url: string;
  readonly description: string;
  /** `*` is every type, also those that come later. */
  readonly eventTypes: readonly string[];
  readonly status: 'enabled' | 'disabled';
  readonly disabledReason: string | null;
  readonly createdBy: UserId;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly lastSucceededAt: Date | null;
  readonly failingSince: Date | null;
  readonly secrets: SealedSecrets;
}

/** What its deliveries are signed with, as it is stored. */
export interface SealedSecrets {
  readonly current: string;
  /** Signs as well until its time is over. */
  readonly previous: { readonly sealed: string; readonly until: Date } | null;
}

/** Who switched a webhook off: its owner, or the deliverer because its receiver accepts nothing. */
export type DisabledBy = 'person' | 'failures';

export const deliveryStatuses = ['pending', 'succeeded', 'failed', 'abandoned'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** One try to hand an event over. */
export interface Attempt {
  /** RFC 3339, as it is stored and shown. */
  readonly at: string;
  /** Null when there was no answer. */
  readonly httpStatus: number | null;
  /** Null when it was accepted. */
  readonly error: string | null;
  readonly durationMs: number;
}

/** One event on its way to one webhook. */
export interface Delivery {
  readonly id: DeliveryId;
  readonly webhookId: WebhookId;
  readonly eventId: EventId;
  readonly eventType: string;
  readonly seq: number;
  readonly status: DeliveryStatus;
  /** The newest, oldest first. */
  readonly attempts: readonly Attempt[];
  readonly nextAttemptAt: Date | null;
  readonly createdAt: Date;
}

/** How many webhooks an organisation has at most, in each mode. */
export const WEBHOOKS_MAX = 20;

/** How many events one call sends again at most. */
export const REPLAY_MAX = 10_000;

/** How many attempts of a delivery are kept for people to read: the ladder's, and those of a few replays. */
export const ATTEMPTS_STORED_MAX = 30;
