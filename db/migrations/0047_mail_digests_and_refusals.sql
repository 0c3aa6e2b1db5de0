-- Mail beyond the hourly limit is sent as a digest instead of being dropped, and a mailbox can refuse further invitation mail. Payments
-- get columns for failed refunds.

alter table notice_mails add column in_digest boolean not null default false;
comment on column notice_mails.in_digest is 'Sent together with the others of its person, category and mode, in one email.';
create index notice_mails_digest_idx on notice_mails (org_id, user_id, mode, category) where state = 'waiting' and in_digest;

create table mail_refusals (
  email text primary key check (email = lower(email) and length(email) <= 255),
  refused_at timestamptz not null
);
comment on table mail_refusals is 'Mailboxes that refuse mail about invitations. Set and unset by a link in such mail.';

-- Refunds that failed at the bank. Constant defaults and checks that are not validated here read no row of this table; the next
-- migration validates them, which blocks neither reads nor writes.
alter table payments
  add column refund_total_nano_usd bigint not null default 0,
  add column refund_told_at timestamptz,
  add column failed_refunds jsonb not null default '[]';
alter table payments
  add constraint payments_refund_total_nano_usd_check check (refund_total_nano_usd >= 0) not valid,
  add constraint payments_failed_refunds_check check (jsonb_typeof(failed_refunds) = 'array') not valid;
grant update (refund_total_nano_usd, refund_told_at, failed_refunds) on payments to millrace_app;
comment on column payments.refund_total_nano_usd is 'Refunded in all, by the newest report of the provider. Rows that older processes wrote may have less here than in refunded_nano_usd, which counts then.';
comment on column payments.refund_told_at is 'When that report was made, by the clock of the provider; null: before this was recorded.';
comment on column payments.failed_refunds is 'Refunds that the bank did not carry out: ref, nanoUsd and at. Those since the newest report reduce its total to refunded_nano_usd.';
