-- Validates the checks of migrations 44 and 47, records the origin of requests to sign a program in, and adds indexes for the clean-up
-- of sign-in codes and for the prices of models.

alter table payments validate constraint payments_refund_total_nano_usd_check;
alter table payments validate constraint payments_failed_refunds_check;
alter table usage_charges validate constraint usage_charges_outcome_check;
alter table inference_requests validate constraint inference_requests_outcome_check;

-- The table holds codes of the last minutes. The first default is constant, so that the table is not rewritten.
alter table device_codes
  add column requested_ip text check (length(requested_ip) <= 64),
  add column requested_agent text check (length(requested_agent) <= 300),
  add column created_at timestamptz not null default now();
alter table device_codes alter column created_at set default clock_timestamp();
comment on column device_codes.requested_ip is 'The address that asked, shown to the person who is to approve.';
comment on column device_codes.requested_agent is 'What the program said of itself.';

-- Writes wait while this is built: about a second for a million codes.
create index verifications_expires_idx on verifications (expires_at);

-- Each batch of usage reads the prices of its models.
create index prices_model_idx on prices (model, org_id) where subject_kind = 'model';
