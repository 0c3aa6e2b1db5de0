import { systemClock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { toUuid, type HoldId, type OrgId, type PaymentId } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import type { NanoUsd } from '@millrace/platform/money';
import {
  createTestDatabase,
  signStripeEvent,
  startStripeDouble,
  uniqueId,
  databaseWithClock,
  type DoubleSession,
  type StripeDouble,
  type TestDatabase,
} from '@millrace/testing';
import { zeroBurnRate } from '../billing/index.ts';
import {
  createOrganisation,
  ensureUser,
  issueUnrestrictedKey,
  readCommitted,
  systemAuditContext,
  type CallContext,
} from '../identity/index.ts';
import { applyLedger, readBalance, requireLedgerSuccess, type LedgerCommand } from '../ledger/index.ts';
import type { Payment } from './payment.ts';
import { Payments, type PaymentsOptions } from './payments.service.ts';
import { findPayment } from './payments.store.ts';
import { usd } from './payments.fixture.ts';
import { createStripeGateway } from './stripe-gateway.ts';

/** Payments on a real PostgreSQL with a Stripe double. */
export interface PaymentsHarness {
  readonly database: TestDatabase;
  readonly db: Db;
  readonly stripe: StripeDouble;
  readonly payments: Payments;
  readonly logs: () => string;
  with(changes: Partial<PaymentsOptions>): Payments;
  /** The same service with a clock that is `minutes` ahead. */
  inMinutes(minutes: number): Payments;
  newCaller(): Promise<CallContext>;
  start(call: CallContext, dollars?: number): Promise<Payment>;
  /** A payment with its checkout session. */
  open(call: CallContext, dollars?: number): Promise<Payment>;
  /** A credited payment with its session at Stripe. */
  paid(call: CallContext, dollars?: number): Promise<PaidPayment>;
  read(payment: Payment): Promise<Payment>;
  send(event: SentEvent, to?: Payments): Promise<void>;
  money(orgId: OrgId): Promise<{ balance: NanoUsd; available: NanoUsd; frozen: boolean }>;
  spend(orgId: OrgId, dollars: number): Promise<void>;
  hold(orgId: OrgId, dollars: number): Promise<HoldId>;
  closeHold(orgId: OrgId, holdId: HoldId, chargedDollars?: number): Promise<void>;
  transfers(id: PaymentId): Promise<readonly (readonly [string, NanoUsd])[]>;
  /** The amount that the operator absorbed for a payment. */
  shortfall(id: PaymentId): Promise<bigint>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface PaidPayment {
  readonly payment: Payment;
  readonly session: DoubleSession;
  readonly intent: string;
}

export interface SentEvent {
  readonly type: string;
  readonly object: unknown;
  readonly id?: string;
  readonly livemode?: boolean;
  /** Seconds after the start of the test by Stripe's clock. */
  readonly second?: number;
}

export const completed = (session: DoubleSession): SentEvent => ({
  type: 'checkout.session.completed',
  object: session,
});

export const refundOf = (intent: string, dollars: number): SentEvent => ({
  type: 'charge.refunded',
  object: {
    id: `ch_${intent}`,
    payment_intent: intent,
    amount_refunded: dollars * 100,
    currency: 'usd',
    livemode: true,
  },
});

/** As Stripe reports it days later, when the bank has returned the money. */
export const failedRefundOf = (
  intent: string,
  dollars: number,
  fields: { readonly type?: string; readonly id?: string } = {},
): SentEvent => ({
  type: fields.type ?? 'refund.failed',
  object: {
    id: fields.id ?? `re_${intent}`,
    charge: `ch_${intent}`,
    payment_intent: intent,
    amount: dollars * 100,
    currency: 'usd',
    status: 'failed',
  },
  second: 86_400,
});

export const disputeOf = (
  intent: string,
  status: string,
  fields: { readonly id?: string; readonly dollars?: number; readonly second?: number } = {},
): SentEvent => ({
  type: status === 'won' || status === 'lost' ? 'charge.dispute.closed' : 'charge.dispute.created',
  object: {
    id: fields.id ?? `dp_${intent}`,
    payment_intent: intent,
    amount: (fields.dollars ?? 100) * 100,
    currency: 'usd',
    status,
    livemode: true,
  },
  ...(fields.second === undefined ? {} : { second: fields.second }),
});

export async function startPaymentsHarness(): Promise<PaymentsHarness> {
  const database = await createTestDatabase();
  const { db } = database;
  const stripe = await startStripeDouble();
  let logged = '';
  const log = createLogger({
    name: 'payments',
    level: 'debug',
    destination: { write: (line: string) => void (logged += line) },
  });
  const options: PaymentsOptions = {
    db,
    clock: systemClock,
    log,
    stripe: createStripeGateway(stripe.settings),
    consoleUrl: 'https://console.example.com',
    burnOf: zeroBurnRate,
  };
  const payments = new Payments(options);
  const startedMs = systemClock.nowMs();

  const transaction = <T>(work: Parameters<typeof db.transaction<T>>[1]): Promise<T> =>
    db.transaction({ name: 'test', isolation: readCommitted }, work);
  const with_ = (changes: Partial<PaymentsOptions>): Payments => new Payments({ ...options, ...changes });
  const inMinutes = (minutes: number): Db =>
    databaseWithClock(db, new Date(systemClock.nowMs() + minutes * 60_000));

  const read = async ({ orgId, mode, id }: Payment): Promise<Payment> => {
    const found = await findPayment(db, orgId, mode, id);
    if (found === null) throw new Error(`${id} does not exist`);
    return found;
  };
  const start = (call: CallContext, dollars = 100): Promise<Payment> =>
    transaction((tx) => payments.start(tx, call, { amountCents: dollars * 100 }));
  const open = async (call: CallContext, dollars = 100): Promise<Payment> => {
    const { orgId, mode, id } = await start(call, dollars);
    return payments.openCheckout(orgId, mode, id);
  };
  const send = async (event: SentEvent, to = payments): Promise<void> => {
    const { second = 0, ...fields } = event;
    const { body, headers } = signStripeEvent(stripe.settings.webhookSecret, {
      ...fields,
      createdMs: startedMs + second * 1_000,
      signedMs: systemClock.nowMs(),
    });
    await to.receive(body, headers['stripe-signature']);
  };

  const runCommand = (command: LedgerCommand) =>
    transaction(async (tx) => requireLedgerSuccess((await applyLedger(tx, [command]))[0]));
  const rental = (orgId: OrgId, step: string) =>
    ({ orgId, mode: 'live', cause: { kind: 'test', id: uniqueId() }, step }) as const;

  return {
    database,
    db,
    stripe,
    payments,
    logs: () => logged,
    with: with_,
    inMinutes: (minutes) => with_({ db: inMinutes(minutes) }),
    newCaller: () =>
      transaction(async (tx) => {
        const cause = systemAuditContext('test', 'live');
        const email = `owner-${uniqueId()}@example.com`;
        const { organisation } = await createOrganisation(tx, cause, {
          name: `Test ${uniqueId()}`,
          homeCell: 1,
          owner: { email, name: 'Owner' },
        });
        const user = await ensureUser(tx, { email });
        const { key } = await issueUnrestrictedKey(tx, cause, {
          orgId: organisation.id,
          user,
          mode: 'live',
          name: 'test',
        });
        return { orgId: organisation.id, keyId: key.id, cause };
      }),
    start,
    open,
    paid: async (call, dollars = 100) => {
      const opened = await open(call, dollars);
      const session = stripe.pay(stripe.sessionOf(opened.id).id);
      await send(completed(session));
      const payment = await read(opened);
      if (payment.intentRef === null) throw new Error('the payment was not credited');
      return { payment, session, intent: payment.intentRef };
    },
    read,
    send,
    money: async (orgId) => {
      const { balance, available, frozen } = await readBalance(db, orgId, 'live', systemClock.now());
      return { balance, available, frozen };
    },
    spend: (orgId, dollars) =>
      transaction(async (tx) => {
        const amount = usd(dollars);
        const [result] = await applyLedger(tx, [
          {
            do: 'debit',
            kind: 'charge',
            orgId,
            mode: 'live',
            cause: { kind: 'test', id: uniqueId() },
            step: 'spend',
            amount,
            to: [{ account: { kind: 'revenue', product: 'rental' }, amount }],
            whenShort: 'refuse',
            description: 'Spent',
          },
        ]);
        requireLedgerSuccess(result);
      }),
    hold: async (orgId, dollars) => {
      const { holdId } = await runCommand({
        ...rental(orgId, 'hold'),
        do: 'hold',
        amount: usd(dollars),
        demand: 'new',
      });
      if (holdId === null) throw new Error('no hold');
      return holdId;
    },
    closeHold: async (orgId, holdId, chargedDollars = 0) => {
      const amount = usd(chargedDollars);
      await runCommand({
        ...rental(orgId, 'end'),
        do: 'post',
        holdId,
        amount,
        to: [{ account: { kind: 'revenue', product: 'rental' }, amount }],
        afterwards: 'close',
        description: 'Used',
      });
    },
    transfers: async (id) => {
      const rows = await db.kysely
        .selectFrom('ledger_transfers')
        .select(['kind', 'amount_nano_usd'])
        .where('cause_kind', '=', 'payment')
        .where('cause_id', '=', id)
        .orderBy('id')
        .execute();
      return rows.map((row) => [row.kind, row.amount_nano_usd as NanoUsd] as const);
    },
    shortfall: async (id) => {
      const row = await db.kysely
        .selectFrom('ledger_entries')
        .innerJoin('ledger_transfers', 'ledger_transfers.id', 'ledger_entries.transfer_id')
        .innerJoin('ledger_accounts', 'ledger_accounts.id', 'ledger_entries.account_id')
        .select((of) => of.fn.sum<string>('ledger_entries.amount_nano_usd').as('sum'))
        .where('ledger_transfers.cause_id', '=', id)
        .where('ledger_accounts.kind', '=', 'shortfall')
        .executeTakeFirst();
      return 0n - BigInt(row?.sum ?? 0);
    },
    [Symbol.asyncDispose]: async () => {
      await stripe.close();
      await database.drop();
    },
  };
}

/** The outcomes of all stored events of a payment. */
export async function eventOutcomes(db: Db, id: PaymentId): Promise<readonly string[]> {
  const rows = await db.kysely
    .selectFrom('payment_events')
    .select('outcome')
    .where('payment_id', '=', toUuid(id))
    .orderBy('received_at')
    .execute();
  return rows.map(({ outcome }) => outcome);
}
