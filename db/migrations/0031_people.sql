-- People sign in. The sign-in library (docs/decisions/140-people-sign-in.md) gets the tables that it lacked; a member who
-- calls by a session does so through a seat, a row of api_keys that is no key (docs/decisions/142-seats.md).

alter table users add column two_factor_enabled boolean not null default false;
comment on column users.two_factor_enabled is 'True once the person has confirmed a second factor; a password alone then signs nobody in.';

comment on table sessions is 'Where people are signed in. Begun by the sign-in library, ended by it or by our own operations.';
comment on column sessions.token is 'SHA-256 of the token, in hex: who reads this table can sign in as nobody.';
-- Nobody could sign in before, so there is nothing to keep; a token that is no hash must never be one.
delete from sessions;
alter table sessions add constraint sessions_token_is_hashed check (token ~ '^[0-9a-f]{64}$');
create index sessions_expires_at_idx on sessions (expires_at);

create table two_factors (
  id uuid primary key,
  user_id uuid not null references users (id) on delete cascade,
  secret text not null,
  backup_codes text not null,
  verified boolean not null default true,
  failed_verification_count integer not null default 0,
  locked_until timestamptz,
  constraint two_factors_user_key unique (user_id)
);
comment on table two_factors is 'The second factor of a person: codes by time, and codes to write down.';
comment on column two_factors.secret is 'Encrypted with the secret of the sign-in, MILLRACE_AUTH_SECRET.';
comment on column two_factors.backup_codes is 'Encrypted with the secret of the sign-in; each is gone once it was used.';
comment on column two_factors.verified is 'False until the person has shown a first code; until then nobody is asked for one.';
comment on column two_factors.failed_verification_count is 'Wrong codes in a row; after too many the factor is locked for a while.';

create table passkeys (
  id uuid primary key,
  user_id uuid not null references users (id) on delete cascade,
  name text check (length(name) <= 200),
  public_key text not null,
  credential_id text not null,
  counter double precision not null check (counter between 0 and 4294967295 and counter = floor(counter)),
  device_type text not null,
  backed_up boolean not null,
  transports text,
  aaguid text,
  created_at timestamptz default now(),
  constraint passkeys_credential_id_key unique (credential_id)
);
create index passkeys_user_id_idx on passkeys (user_id);
comment on column passkeys.counter is 'Counts up with each use, up to 32 bits; a float because the library wants a number, which a bigint is not.';
comment on table passkeys is 'Public halves of passkeys; the private half never leaves the person''s device.';

create table device_codes (
  id uuid primary key,
  device_code text not null check (device_code ~ '^[0-9a-f]{64}$'),
  user_code text not null,
  user_id uuid references users (id) on delete cascade,
  expires_at timestamptz not null,
  status text not null check (status in ('pending', 'approved', 'denied')),
  last_polled_at timestamptz,
  polling_interval integer,
  client_id text,
  scope text,
  constraint device_codes_device_code_key unique (device_code),
  constraint device_codes_user_code_key unique (user_code)
);
create index device_codes_expires_at_idx on device_codes (expires_at);
comment on table device_codes is 'Programs that wait for a person to sign them in, such as a terminal. Gone once claimed.';
comment on column device_codes.device_code is 'SHA-256 of what the program holds, in hex.';

alter table api_keys
  add column kind text not null default 'key' check (kind in ('key', 'seat')),
  -- What a member does by a session is bounded by their role alone, for as long as they are a member.
  add constraint api_keys_seats_are_plain check (
    kind = 'key'
    or (expires_at is null and rotated_from is null and scopes = '{}' and allowed_ips = '{}'
        and limits = '{}' and (revoked_reason is null or revoked_reason = 'member_removed'))
  );
create unique index api_keys_one_seat on api_keys (org_id, user_id, mode) where kind = 'seat' and revoked_at is null;
comment on column api_keys.kind is 'seat: no key, but what a member does when signed in; one for each organisation, member and mode. Nobody knows its secret, and nothing lists, counts, rotates or revokes it as a key.';

-- Gateways take keys alone, so seats are none of their business.
drop trigger api_keys_insert_noted on api_keys;
create trigger api_keys_insert_noted after insert on api_keys
  for each row when (new.kind = 'key') execute function note_changed_key();
drop trigger api_keys_update_noted on api_keys;
create trigger api_keys_update_noted after update of scopes, limits, allowed_ips, expires_at, revoked_at, revoked_reason
  on api_keys for each row when (new.kind = 'key') execute function note_changed_key();

create or replace function note_keys_of_changed_user() returns trigger language plpgsql security definer
  set search_path = pg_catalog, public as $$
declare
  changed record;
begin
  if tg_op = 'DELETE' then changed := old; else changed := new; end if;
  insert into book_changes (kind, ref)
  select 'key', public_id from api_keys
   where user_id = changed.user_id and revoked_at is null and api_keys.kind = 'key'
     and (tg_table_name <> 'members' or org_id = (to_jsonb(changed) ->> 'org_id')::uuid);
  return null;
end $$;

create or replace function note_keys_of_changed_budget() returns trigger language plpgsql security definer
  set search_path = pg_catalog, public as $$
declare
  counted uuid[] := new.key_ids;
begin
  if tg_op = 'UPDATE' then
    if new.key_ids is not distinct from old.key_ids and new.on_exceeded = old.on_exceeded
       and new.deleted_at is not distinct from old.deleted_at then
      return null;
    end if;
    -- Null counts the whole organisation, before the change or after it.
    counted := case when old.key_ids is null or new.key_ids is null then null else old.key_ids || new.key_ids end;
  end if;
  insert into book_changes (kind, ref)
  select 'key', public_id from api_keys
   where org_id = new.org_id and mode = new.mode and revoked_at is null and api_keys.kind = 'key'
     and (counted is null or id = any (counted));
  return null;
end $$;
