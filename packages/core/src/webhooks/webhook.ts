import type { Mode } from '@millrace/platform/envelope';
import type { DeliveryId, EventId, OrgId, UserId, WebhookId } from '@millrace/platform/ids';

export interface Webhook {
  readonly id: WebhookId;
  readonly orgId: OrgId;
  /** Only events of this mode are sent. */
  readonly mode: Mode;
  readonly url: string;
  readonly description: string;
  /** `*` means all types, also future ones. */
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

export interface SealedSecrets {
  readonly current: string;
  /** Also signs until this time. */
  readonly previous: { readonly sealed: string; readonly until: Date } | null;
}

/** Disabled by the owner, or by the deliverer because the receiver accepts no deliveries. */
export type DisabledBy = 'person' | 'failures';

export const deliveryStatuses = ['pending', 'succeeded', 'failed', 'abandoned'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

export interface Attempt {
  /** RFC 3339, as stored and shown. */
  readonly at: string;
  readonly httpStatus: number | null;
  readonly error: string | null;
  readonly durationMs: number;
}

export interface Delivery {
  readonly id: DeliveryId;
  readonly webhookId: WebhookId;
  readonly eventId: EventId;
  readonly eventType: string;
  readonly seq: number;
  readonly status: DeliveryStatus;
  /** The newest attempts, oldest first. */
  readonly attempts: readonly Attempt[];
  readonly nextAttemptAt: Date | null;
  readonly createdAt: Date;
}

export const WEBHOOKS_MAX = 20;

export const REPLAY_MAX = 10_000;

/** Maximum number of stored attempts of a delivery: one retry schedule and a few replays. */
export const ATTEMPTS_STORED_MAX = 30;
