import type { Tx } from '@millrace/platform/db';
import { toUuid, type PaymentId } from '@millrace/platform/ids';
import type { PaymentFact, Report, ReportOutcome } from './payment.ts';
import type { StripeEvent } from './stripe-facts.ts';

/** All SQL for provider events. An event belongs to no organisation until it matches a payment row. */

const provider = 'stripe';

/** Returns false if the event is already stored. Waits for a concurrent insert of the same event. */
export async function insertEvent(tx: Tx, event: StripeEvent): Promise<boolean> {
  const inserted = await tx.kysely
    .insertInto('payment_events')
    .values({
      provider,
      event_id: event.id,
      provider_live: event.fact.live,
      type: event.type,
      intent_ref: event.fact.intentRef,
      outcome: 'unmatched',
      fact: JSON.stringify(event.fact),
      occurred_at: event.occurredAt,
      received_at: tx.clock.now(),
    })
    .onConflict((conflict) => conflict.columns(['provider', 'event_id']).doNothing())
    .returning('event_id')
    .executeTakeFirst();
  return inserted !== undefined;
}

export async function markEventApplied(
  tx: Tx,
  eventId: string,
  result: { readonly paymentId: PaymentId; readonly outcome: ReportOutcome },
): Promise<void> {
  await tx.kysely
    .updateTable('payment_events')
    .set({ payment_id: toUuid(result.paymentId), outcome: result.outcome })
    .where('provider', '=', provider)
    .where('event_id', '=', eventId)
    .execute();
}

export interface UnmatchedReport extends Report {
  readonly eventId: string;
}

/** Refunds and disputes that arrived before their payment was known, oldest first. */
export async function listUnmatchedReports(tx: Tx, intentRef: string): Promise<readonly UnmatchedReport[]> {
  const rows = await tx.kysely
    .selectFrom('payment_events')
    .select(['event_id', 'fact', 'occurred_at'])
    .where('provider', '=', provider)
    .where('intent_ref', '=', intentRef)
    .where('outcome', '=', 'unmatched')
    .orderBy('occurred_at')
    .orderBy('event_id')
    .execute();
  return rows.flatMap(({ event_id: eventId, occurred_at: occurredAt, ...row }) => {
    // Only `insertEvent` writes this column.
    const fact = row.fact as unknown as PaymentFact;
    return fact.kind === 'session' ? [] : [{ eventId, fact, occurredAt }];
  });
}
