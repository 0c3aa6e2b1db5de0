import type { Timer } from '@millrace/platform/clock';
import { assertOutsideTransaction, type Db, type Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { Fault, isFault } from '@millrace/platform/fault';
import type { OrgId, PaymentId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import { createItemRunner } from '@millrace/platform/loops';
import { fromCents } from '@millrace/platform/money';
import { counter } from '@millrace/platform/telemetry';
import { appendAuditEntry, authorizeCaller, readCommitted, type CallContext } from '../identity/index.ts';
import { insertEvent, markEventApplied } from './payment-events.store.ts';
import { checkPaymentsLoop } from './loops.ts';
import type { Payment } from './payment.ts';
import {
  claimDuePayments,
  countUnpaid,
  endUnopenedPayment,
  findPayment,
  insertPayment,
  storeCheckout,
} from './payments.store.ts';
import { applyReport, type AppliedReport, type DepositHooks } from './reports.service.ts';
import { readEvent, type StripeEvent } from './stripe-facts.ts';
import type { StripeGateway } from './stripe-gateway.ts';

/** The maximum number of unpaid checkouts per organisation. */
export const UNPAID_MAX = 20;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** The first check of an undecided payment, and the longest interval between checks. */
const FIRST_CHECK_MS = 10 * MINUTE_MS;
const MAX_CHECK_MS = 6 * HOUR_MS;
/** Stripe deletes idempotency keys after a day; a later request could create a second session. */
const CHECKOUT_CREATABLE_MS = 20 * HOUR_MS;

const reports = counter('millrace_payment_reports_total');
const mismatchesCounter = counter('millrace_payment_mismatches_total');

export interface PaymentsOptions extends DepositHooks {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Logger;
  /** Null if the operator takes no cards. */
  readonly stripe: StripeGateway | null;
  /** The default return URL. */
  readonly consoleUrl: string | null;
}

export interface TopUpRequest {
  readonly amountCents: number;
  readonly successUrl?: string | undefined;
  readonly cancelUrl?: string | undefined;
}

/** Takes payments by card: starts them, applies Stripe's events, and checks undecided payments. */
export class Payments {
  readonly #options: PaymentsOptions;

  constructor(options: PaymentsOptions) {
    this.#options = options;
  }

  /** Refuses requests that cannot lead to a checkout before anything is written. */
  requireAvailable(request: TopUpRequest): void {
    this.#gateway();
    this.#returnUrls(request);
  }

  /** Inserts the payment. Call `openCheckout` after the commit. */
  async start(tx: Tx, call: CallContext, request: TopUpRequest): Promise<Payment> {
    const { key } = await authorizeCaller(tx, call, 'billing:write');
    // The organisation's row is locked, so the count is exact.
    if ((await countUnpaid(tx, call.orgId, key.mode)) >= UNPAID_MAX) throw new Fault('TOP_UP_LIMIT_REACHED');
    const payment = await insertPayment(tx, call.orgId, {
      mode: key.mode,
      real: this.#gateway().live,
      amount: fromCents(BigInt(request.amountCents)),
      ...this.#returnUrls(request),
      nextCheckAt: new Date(tx.clock.nowMs() + FIRST_CHECK_MS),
    });
    await appendAuditEntry(tx, call.orgId, call.cause, {
      action: 'top_up.created',
      resource: { kind: 'payment', id: payment.id },
      after: { amountNanoUsd: payment.amount.toString() },
    });
    return payment;
  }

  /**
   * Creates and stores the checkout session if there is none. Safe to repeat after any crash: the provider returns the
   * same session for the same payment, and the row accepts only that one.
   */
  async openCheckout(orgId: OrgId, mode: Mode, id: PaymentId): Promise<Payment> {
    const { db } = this.#options;
    assertOutsideTransaction('The payment provider');
    const payment = await this.#read(orgId, mode, id);
    if (payment.state !== 'created' || !this.#isCreatable(payment)) return payment;
    try {
      const checkout = await this.#gateway().openCheckout(payment);
      await db.transaction({ name: 'store payment page', isolation: readCommitted }, (tx) =>
        storeCheckout(tx, orgId, id, checkout),
      );
    } catch (error) {
      if (isFault(error) && error.reason === 'PAYMENT_PROVIDER_REFUSED') {
        await db.transaction({ name: 'fail payment', isolation: readCommitted }, (tx) =>
          endUnopenedPayment(tx, orgId, id, 'failed'),
        );
      }
      throw error;
    }
    return this.#read(orgId, mode, id);
  }

  /** Returns only after the effect of the event is committed; any error makes the provider repeat it. */
  async receive(body: string, signature: string | undefined): Promise<void> {
    const { db, log } = this.#options;
    const reading = readEvent(this.#gateway().verify(body, signature, db.clock.nowMs()));
    if (reading.kind === 'ignored') {
      reports.add(1, { outcome: 'ignored' });
      return;
    }
    if (reading.kind === 'malformed') {
      throw new Fault('WEBHOOK_EVENT_INVALID', { internal: reading.why });
    }
    const { event } = reading;
    const applied = await db.transaction({ name: 'apply payment event', isolation: readCommitted }, (tx) =>
      this.#applyEvent(tx, event),
    );
    if (applied === null) {
      reports.add(1, { outcome: 'repeated' });
      return;
    }
    this.#observe(applied, { eventId: event.id, type: event.type });
    log.info(
      { eventId: event.id, type: event.type, paymentId: applied.paymentId, outcome: applied.outcome },
      'payment event applied',
    );
  }

  /** Null if the event was already applied. */
  async #applyEvent(tx: Tx, event: StripeEvent): Promise<AppliedReport | null> {
    if (!(await insertEvent(tx, event))) return null;
    const applied = await applyReport(tx, this.#options, event);
    const { paymentId, outcome } = applied;
    if (paymentId !== null) await markEventApplied(tx, event.id, { paymentId, outcome });
    return applied;
  }

  /**
   * Checks payments that are undecided for too long, in case a report was lost. Safe to run concurrently. Returns the
   * number of due payments.
   */
  async checkDue(limit: number): Promise<number> {
    const { db, clock, log, stripe } = this.#options;
    if (stripe === null) return 0;
    const pace = { firstMs: FIRST_CHECK_MS, longestMs: MAX_CHECK_MS };
    const due = await db.transaction({ name: 'claim due payments', isolation: readCommitted }, (tx) =>
      claimDuePayments(tx, { real: stripe.live, now: tx.clock.now(), limit, ...pace }),
    );
    let isAway = false;
    await createItemRunner(checkPaymentsLoop, { clock, log }).run(due, {
      key: ({ id }) => id,
      work: async (payment) => {
        // The claim has already set the next check.
        if (isAway) return;
        try {
          await this.#check(stripe, payment);
        } catch (error) {
          isAway = isFault(error) && error.reason === 'PAYMENT_PROVIDER_UNAVAILABLE';
          throw error;
        }
      },
    });
    return due.length;
  }

  async #check(stripe: StripeGateway, payment: Payment): Promise<void> {
    const { db } = this.#options;
    const { id, orgId, mode, sessionRef } = payment;
    if (sessionRef === null) {
      if (this.#isCreatable(payment)) {
        await this.openCheckout(orgId, mode, id);
        return;
      }
      // No checkout URL was ever returned, so it cannot be paid.
      await db.transaction({ name: 'expire payment', isolation: readCommitted }, (tx) =>
        endUnopenedPayment(tx, orgId, id, 'expired'),
      );
      return;
    }
    const fact = await stripe.readCheckout(sessionRef);
    const applied = await db.transaction({ name: 'apply payment check', isolation: readCommitted }, (tx) =>
      applyReport(tx, this.#options, { fact, occurredAt: tx.clock.now() }),
    );
    this.#observe(applied, { eventId: null, type: 'check' });
  }

  #observe(applied: AppliedReport, about: { readonly eventId: string | null; readonly type: string }): void {
    reports.add(1, { outcome: applied.outcome });
    for (const why of applied.mismatches) {
      mismatchesCounter.add(1);
      this.#options.log.error(
        { ...about, paymentId: applied.paymentId, why },
        'a report of the payment provider does not match the payment; nothing was credited for it',
      );
    }
  }

  #isCreatable({ createdAt }: Payment): boolean {
    return this.#options.db.clock.nowMs() - createdAt.getTime() <= CHECKOUT_CREATABLE_MS;
  }

  async #read(orgId: OrgId, mode: Mode, id: PaymentId): Promise<Payment> {
    const payment = await findPayment(this.#options.db, orgId, mode, id);
    if (payment === null) throw new Fault('TOP_UP_NOT_FOUND');
    return payment;
  }

  #gateway(): StripeGateway {
    const { stripe } = this.#options;
    if (stripe === null) throw new Fault('TOP_UPS_NOT_AVAILABLE');
    return stripe;
  }

  #returnUrls({ successUrl, cancelUrl }: TopUpRequest): { successUrl: string; cancelUrl: string } {
    const success = successUrl ?? this.#options.consoleUrl;
    if (success === null) {
      const message = 'is required, because this installation has no console';
      throw new Fault('VALIDATION_FAILED', { issues: [{ path: ['successUrl'], code: 'required', message }] });
    }
    return { successUrl: success, cancelUrl: cancelUrl ?? success };
  }
}
