import type { Timer } from '@millrace/platform/clock';
import type { Db, Tx } from '@millrace/platform/db';
import type { Logger } from '@millrace/platform/log';
import { msToSecondsRoundDown, msToSeconds } from '@millrace/platform/money';
import type { Sealer } from '@millrace/platform/secrets';
import { counter, histogram } from '@millrace/platform/telemetry';
import { findEventsBySeq, toWireEvent } from '../events/index.ts';
import { appendAuditEntry, systemAuditContext } from '../identity/index.ts';
import { notifyMembers } from '../notices/index.ts';
import { nextAttemptAt, reasonToDisable } from './retry-schedule.ts';
import type { SendWebhook, WebhookResponse } from './webhook-sender.ts';
import {
  isStillClaimed,
  setQueueFailing,
  recordDeliverySuccess,
  recordDeliveryFailure,
  type DueDelivery,
  type ClaimedWebhook,
  type WebhookSendState,
} from './queue.store.ts';
import { openSecrets } from './sealed-secrets.ts';
import { signedHeaders } from './signing.ts';
import { originOf } from './webhook-url.ts';
import type { Attempt } from './webhook.ts';
import {
  disableFailing,
  lockIfUrlUnchanged,
  recordWebhookFailure,
  recordWebhookSuccess,
} from './webhooks.store.ts';

const attemptsMade = counter('millrace_webhook_attempts_total');
const attemptSeconds = histogram('millrace_webhook_attempt_seconds');
const disabled = counter('millrace_webhooks_disabled_total');

export interface DeliveryDeps {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Logger;
  readonly sealer: Sealer;
  readonly post: SendWebhook;
  readonly random?: () => number;
}

/**
 * Sends one delivery outside any transaction and records the outcome, unless another worker holds the webhook by then.
 * Returns true when the delivery was accepted and recorded, so that the next one of its queue can be sent.
 */
export async function attemptDelivery(
  deps: DeliveryDeps,
  held: ClaimedWebhook,
  state: WebhookSendState,
  delivery: DueDelivery,
): Promise<boolean> {
  const at = deps.db.clock.now();
  const result = await sendDelivery(deps, held, state, delivery, at);
  if (result === 'forgotten') return abandonExpired(deps, held, delivery);
  const { httpStatus, error, durationMs } = result;
  attemptsMade.add(1, { outcome: error === null ? 'succeeded' : 'failed' });
  attemptSeconds.record(msToSeconds(durationMs));
  const attempt: Attempt = { at: at.toISOString(), httpStatus, error, durationMs };
  if (error === null) return writeSuccess(deps, held, state, delivery, attempt);
  await writeFailure(deps, held, delivery, attempt, { url: state.url, httpStatus, error });
  return false;
}

async function sendDelivery(
  { db, sealer, post }: DeliveryDeps,
  held: ClaimedWebhook,
  state: WebhookSendState,
  delivery: DueDelivery,
  at: Date,
): Promise<WebhookResponse | 'forgotten'> {
  const [event] = await findEventsBySeq(db, held.orgId, [delivery.seq]);
  if (event === undefined) return 'forgotten';
  const body = JSON.stringify(toWireEvent(event));
  const secrets = openSecrets(sealer, held.id, state.secrets, at);
  const timestampSeconds = msToSecondsRoundDown(at.getTime());
  const signed = signedHeaders({ id: event.id, timestampSeconds, payload: body }, secrets);
  const headers = { 'content-type': 'application/json', 'user-agent': 'Millrace-Webhooks/1', ...signed };
  return post({ url: state.url, headers, body });
}

/** One success per second is recorded on the webhook, so that busy webhooks do not contend for their row. */
const SUCCESS_RECORDED_EVERY_MS = 1_000;

async function writeSuccess(
  { db }: DeliveryDeps,
  held: ClaimedWebhook,
  { failing, lastSucceededAt }: WebhookSendState,
  { seq }: DueDelivery,
  attempt: Attempt,
): Promise<boolean> {
  const agoMs = db.clock.nowMs() - (lastSucceededAt?.getTime() ?? 0);
  if (!failing && agoMs < SUCCESS_RECORDED_EVERY_MS) return recordDeliverySuccess(db, held, seq, attempt);
  return db.transaction({ name: 'webhook delivered', isolation: 'read committed' }, async (tx) => {
    await recordWebhookSuccess(tx, held);
    const isWritten = await recordDeliverySuccess(tx, held, seq, attempt);
    await setQueueFailing(tx, held, false);
    return isWritten;
  });
}

async function writeFailure(
  { db, log, random = Math.random }: DeliveryDeps,
  held: ClaimedWebhook,
  delivery: DueDelivery,
  attempt: Attempt,
  failure: Failure,
): Promise<void> {
  const failures = delivery.failures + 1;
  const reason = await db.transaction(
    { name: 'webhook delivery failed', isolation: 'read committed' },
    async (tx) => {
      if (!(await isStillClaimed(tx, held))) return null;
      const now = tx.clock.now();
      if (!(await lockIfUrlUnchanged(tx, held, failure.url))) {
        // The URL changed during the attempt: the failure does not count for the new URL, which is tried at once.
        const unchanged = {
          status: 'pending',
          failures: delivery.failures,
          attempt,
          nextAttemptAt: now,
        } as const;
        await recordDeliveryFailure(tx, held, delivery.seq, unchanged);
        return null;
      }
      const failingSince = await recordWebhookFailure(tx, held, failure.error);
      const next = nextAttemptAt(failures, now, random);
      const status = next === null ? 'failed' : 'pending';
      const outcome = { status, failures, attempt, nextAttemptAt: next } as const;
      if (!(await recordDeliveryFailure(tx, held, delivery.seq, outcome))) return null;
      await setQueueFailing(tx, held, true);
      return failingSince === null ? null : disableIfFailingTooLong(tx, held, failure, failingSince);
    },
  );
  if (reason === null) return;
  disabled.add(1);
  log.info({ webhookId: held.id, orgId: held.orgId, reason }, 'webhook disabled after failures');
}

interface Failure {
  readonly url: string;
  readonly httpStatus: number | null;
  readonly error: string;
}

/** Disables a webhook that has failed for too long and notifies the organisation. Returns the reason, or null. */
async function disableIfFailingTooLong(
  tx: Tx,
  held: ClaimedWebhook,
  failure: Failure,
  failingSince: Date,
): Promise<string | null> {
  const { id, orgId, mode } = held;
  const reason = reasonToDisable(failure, failingSince, tx.clock.now());
  if (reason === null || !(await disableFailing(tx, held, reason))) return null;
  await appendAuditEntry(tx, orgId, systemAuditContext('webhooks', mode), {
    action: 'webhook.disabled',
    resource: { kind: 'webhook', id },
    reason,
  });
  const url = originOf(failure.url);
  const data = { webhookId: id, url, reason, failingSince: failingSince.toISOString() };
  await notifyMembers(tx, orgId, { mode, type: 'webhook.disabled', data });
  return reason;
}

/** An event that retention has deleted cannot be sent, but the next one of its queue can. */
function abandonExpired(
  { db }: DeliveryDeps,
  held: ClaimedWebhook,
  { seq, failures }: DueDelivery,
): Promise<boolean> {
  return db.transaction({ name: 'webhook delivery forgotten', isolation: 'read committed' }, (tx) =>
    recordDeliveryFailure(tx, held, seq, {
      status: 'abandoned',
      failures,
      attempt: null,
      nextAttemptAt: null,
    }),
  );
}
