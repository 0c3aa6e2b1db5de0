-- The auditor: what it found, and where the last clean audit found each account, so that the next one need only look at
-- what was written since.

create table audit_runs (
  id uuid primary key,
  kind text not null check (kind in ('full', 'incremental')),
  snapshot_at timestamptz not null,
  since timestamptz,
  duration_ms bigint not null check (duration_ms >= 0),
  is_clean boolean not null,
  errors bigint not null check (errors >= 0),
  notices bigint not null check (notices >= 0),
  looked_at jsonb not null check (jsonb_typeof(looked_at) = 'object'),
  findings jsonb not null check (jsonb_typeof(findings) = 'array'),
  constraint audit_runs_clean_has_no_errors check (is_clean = (errors = 0)),
  constraint audit_runs_only_incremental_has_a_start check ((since is not null) = (kind = 'incremental'))
);
create index audit_runs_snapshot_idx on audit_runs (snapshot_at);
revoke update on audit_runs from millrace_app;
comment on table audit_runs is 'Audits that were made: what was looked at and what was found. The newest clean one is where the next incremental audit begins.';
comment on column audit_runs.snapshot_at is 'By the database''s clock: everything committed before this was seen.';
comment on column audit_runs.since is 'Incremental only: the instant of the clean audit it continues.';
comment on column audit_runs.looked_at is 'How many rows each check judged.';
comment on column audit_runs.findings is 'The first findings of each check, errors and notices, as they were reported.';

create table audit_marks (
  account_id uuid primary key,
  entry_count bigint not null check (entry_count >= 0),
  balance_nano_usd bigint not null
) with (fillfactor = 70);
revoke delete on audit_marks from millrace_app;
comment on table audit_marks is 'Each account as the newest clean audit found it. Written in the snapshot of that audit, so that it is exactly what was judged.';

-- Open holds are few and closed ones are for ever. Changing what a hold sets aside touches no column of this index.
create index ledger_holds_open_idx on ledger_holds (id) where closed_at is null;

-- Keys of transfers name their causes as people do (pay_01J…); rows have the UUID. The auditor alone goes from one to the
-- other in SQL, once for each cause.
create function uuid_of_public_id(public_id text) returns uuid
  language sql immutable strict parallel safe
as $$
  select case when public_id ~ '^[a-z]+_[0-7][0-9A-HJKMNP-TV-Z]{25}$' then (
    select string_agg(lpad(to_hex(substr(bits, 3 + 32 * part, 32)::bit(32)::bigint), 8, '0'), '' order by part)::uuid
      from (select string_agg((position(substr(right(public_id, 26), place, 1) in '0123456789ABCDEFGHJKMNPQRSTVWXYZ') - 1)
                                ::bit(5)::text, '' order by place) as bits
              from generate_series(1, 26) as place) as spelled,
           generate_series(0, 3) as part) end
$$;
comment on function uuid_of_public_id(text) is 'The UUID that an id such as trf_01J… spells; null when it spells none.';
