import type { Db } from '@millrace/platform/db';
import { listCreditedSessions } from './payments.store.ts';
import type { StripeGateway } from './stripe-gateway.ts';

export interface UncreditedPayment {
  readonly sessionRef: string;
  /** Our payment id in the session's metadata. */
  readonly paymentId: string | null;
  readonly amountCents: number;
  readonly currency: string;
}

/** Payments that a restored database does not know, or knows as unpaid. */
export async function listUncreditedPayments(
  db: Db,
  stripe: Pick<StripeGateway, 'listPaid'>,
  since: Date,
): Promise<readonly UncreditedPayment[]> {
  const paid = await stripe.listPaid(since);
  const refs = paid.map(({ sessionRef }) => sessionRef);
  const credited = await listCreditedSessions(db, refs);
  return paid
    .filter(({ sessionRef, claimedPayment }) => claimedPayment !== null && !credited.has(sessionRef))
    .map(({ sessionRef, claimedPayment, amountCents, currency }) => ({
      sessionRef,
      paymentId: claimedPayment,
      amountCents,
      currency,
    }));
}
