-- Payments: money paid in by card through a provider, what the provider reported about it, and what was disputed.

create table payments (
  id uuid primary key,
  org_id uuid not null references organisations (id) on delete restrict,
  mode text not null check (mode in ('live', 'test')),
  provider text not null check (provider in ('stripe')),
  provider_live boolean not null default true,
  provider_ref text collate "C" check (length(provider_ref) between 1 and 255),
  provider_intent text collate "C" check (length(provider_intent) between 1 and 255),
  amount_nano_usd bigint not null check (amount_nano_usd > 0 and amount_nano_usd % 10000000 = 0),
  state text not null check (state in (
    'created', 'open', 'processing', 'paid', 'expired', 'failed', 'mismatch', 'refunded', 'disputed', 'charged_back')),
  success_url text not null check (length(success_url) <= 2000),
  cancel_url text not null check (length(cancel_url) <= 2000),
  checkout_url text check (length(checkout_url) <= 5000),
  credited_nano_usd bigint not null default 0,
  refunded_nano_usd bigint not null default 0 check (refunded_nano_usd >= 0),
  clawed_back_nano_usd bigint not null default 0,
  shortfall_nano_usd bigint not null default 0,
  clawback_transfers uuid[] not null default '{}',
  money_steps integer not null default 0 check (money_steps >= 0),
  created_at timestamptz not null,
  paid_at timestamptz,
  next_check_at timestamptz,
  checks integer not null default 0 check (checks >= 0),
  constraint payments_credited_once_and_whole check (credited_nano_usd in (0, amount_nano_usd)),
  constraint payments_claw_back_what_was_credited check (clawed_back_nano_usd between 0 and credited_nano_usd),
  constraint payments_shortfall_is_part_of_it check (shortfall_nano_usd between 0 and clawed_back_nano_usd),
  constraint payments_paid_is_credited check (
    (credited_nano_usd > 0) = (state in ('paid', 'refunded', 'disputed', 'charged_back'))),
  constraint payments_paid_has_its_time check ((paid_at is not null) = (credited_nano_usd > 0)),
  constraint payments_undecided_is_looked_after check (
    (next_check_at is not null) = (state in ('created', 'open', 'processing')))
) with (fillfactor = 80);
create unique index payments_provider_ref_key on payments (provider, provider_ref) where provider_ref is not null;
create unique index payments_provider_intent_key on payments (provider, provider_intent) where provider_intent is not null;
create index payments_org_idx on payments (org_id, mode, id);
create index payments_undecided_idx on payments (next_check_at) where next_check_at is not null;
revoke update, delete on payments from millrace_app;
grant update (provider_ref, provider_intent, state, checkout_url, credited_nano_usd, refunded_nano_usd,
  clawed_back_nano_usd, shortfall_nano_usd, clawback_transfers, money_steps, paid_at, next_check_at, checks) on payments to millrace_app;
comment on table payments is 'Money that an organisation pays in through a provider. Its movements are ledger transfers with the cause payment and this id.';
comment on column payments.mode is 'Whose money it becomes. Test keys cannot pay, so it is live.';
comment on column payments.provider_live is 'Asked for on the provider''s live side, where money is real. A report of its other side never touches it.';
comment on column payments.provider_ref is 'The provider''s payment page: the id of a Stripe Checkout Session. Null until it was made and its id stored.';
comment on column payments.provider_intent is 'The provider''s payment: the id of a Stripe PaymentIntent, by which refunds and disputes name it.';
comment on column payments.amount_nano_usd is 'What was asked for, in whole cents. What the provider says was paid must equal it.';
comment on column payments.state is 'created, open, processing are undecided; paid, refunded, disputed, charged_back were credited; expired and failed were not; mismatch was paid otherwise than asked and waits for the operator.';
comment on column payments.success_url is 'Kept with cancel_url because asking the provider again must ask for exactly the same.';
comment on column payments.credited_nano_usd is 'What the organisation was credited: nothing, or all of it once.';
comment on column payments.refunded_nano_usd is 'What the provider says was paid back to the card so far, in all.';
comment on column payments.clawed_back_nano_usd is 'What of the credit is taken back at present, for refunds and for disputes that are open or lost.';
comment on column payments.shortfall_nano_usd is 'The part of it that the organisation no longer had, and the operator bears.';
comment on column payments.clawback_transfers is 'The ledger transfers that took it and were not undone.';
comment on column payments.money_steps is 'Counts the ledger commands after the credit; each step has its number.';
comment on column payments.next_check_at is 'When to ask the provider about it, in case its report was lost.';

create table payment_disputes (
  provider text not null check (provider in ('stripe')),
  dispute_ref text collate "C" not null check (length(dispute_ref) between 1 and 255),
  payment_id uuid not null references payments (id) on delete restrict,
  org_id uuid not null references organisations (id) on delete restrict,
  mode text not null check (mode in ('live', 'test')),
  amount_nano_usd bigint not null check (amount_nano_usd >= 0),
  standing text not null check (standing in ('inquiry', 'open', 'won', 'lost')),
  told_at timestamptz not null,
  created_at timestamptz not null,
  primary key (provider, dispute_ref)
);
create index payment_disputes_payment_idx on payment_disputes (payment_id);
create index payment_disputes_against_idx on payment_disputes (org_id, mode) where standing in ('open', 'lost');
revoke update, delete on payment_disputes from millrace_app;
grant update (amount_nano_usd, standing, told_at) on payment_disputes to millrace_app;
comment on table payment_disputes is 'Payments whose payers asked their bank for the money back.';
comment on column payment_disputes.standing is 'inquiry: the bank asks, no money has moved; open and lost: the money is gone; won: it is back, or never went.';
comment on column payment_disputes.told_at is 'By the provider''s clock: the newest report that is kept here.';

create table payment_events (
  provider text not null check (provider in ('stripe')),
  event_id text collate "C" not null check (length(event_id) between 1 and 255),
  provider_live boolean not null,
  type text not null check (length(type) <= 200),
  intent_ref text collate "C" check (length(intent_ref) <= 255),
  payment_id uuid references payments (id) on delete restrict,
  outcome text not null check (outcome in ('applied', 'unchanged', 'unmatched', 'mismatch')),
  fact jsonb not null check (jsonb_typeof(fact) = 'object'),
  occurred_at timestamptz not null,
  received_at timestamptz not null,
  primary key (provider, event_id)
);
create index payment_events_waiting_idx on payment_events (provider, intent_ref) where outcome = 'unmatched';
create index payment_events_payment_idx on payment_events (payment_id, received_at) where payment_id is not null;
revoke update, delete on payment_events from millrace_app;
grant update (payment_id, outcome) on payment_events to millrace_app;
comment on table payment_events is 'Every report of a provider, once, with what it came to. Its row commits with its effect.';
comment on column payment_events.intent_ref is 'The provider''s payment that it names.';
comment on column payment_events.payment_id is 'Our payment, found by our own rows. Null when we know none: then it may be another product''s, or early.';
comment on column payment_events.outcome is 'applied changed something; unchanged was known; unmatched names no payment of ours, yet; mismatch contradicts our payment and waits for the operator.';
comment on column payment_events.fact is 'What was read of it: ids, amounts and standing. Nothing about the payer.';
comment on column payment_events.occurred_at is 'By the provider''s clock.';
