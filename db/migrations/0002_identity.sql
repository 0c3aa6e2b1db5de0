-- Identity: people, organisations, who may do what, API keys, SSH public keys, the audit log.
--
-- users, sessions, accounts, verifications, organisations, members and invitations have the fields of better-auth's
-- own tables (column names mapped to snake_case, see docs/decisions/050-identity-tables.md), so that the console's
-- sign-in can take them over as they are: there is one users table, now and later.

create table users (
  id uuid primary key,
  name text not null check (length(name) between 1 and 255),
  email text not null check (email = lower(email) and length(email) <= 255 and position('@' in email) > 1),
  email_verified boolean not null default false,
  image text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint users_email_key unique (email)
);
comment on table users is 'People. A person exists once, however many organisations they belong to.';
comment on column users.email is 'Always lower case, so that one mailbox is one user.';
comment on column users.email_verified is 'True once the person has shown they read this mailbox; sign-in maintains it.';

create table sessions (
  id uuid primary key,
  user_id uuid not null references users (id) on delete cascade,
  token text not null,
  expires_at timestamptz not null,
  ip_address text,
  user_agent text,
  active_org_id uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint sessions_token_key unique (token)
);
create index sessions_user_id_idx on sessions (user_id);
comment on table sessions is 'Signed-in browsers. Written by the sign-in library only; API calls use api_keys.';
comment on column sessions.active_org_id is 'The organisation the person is looking at; a preference, never a permission.';

create table accounts (
  id uuid primary key,
  user_id uuid not null references users (id) on delete cascade,
  account_id text not null,
  provider_id text not null,
  access_token text,
  refresh_token text,
  id_token text,
  access_token_expires_at timestamptz,
  refresh_token_expires_at timestamptz,
  scope text,
  password text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint accounts_provider_account_key unique (provider_id, account_id)
);
create index accounts_user_id_idx on accounts (user_id);
comment on table accounts is 'The ways a user can sign in: one row per password or outside provider.';
comment on column accounts.password is 'A slow salted hash, never the password.';

create table verifications (
  id uuid primary key,
  identifier text not null,
  value text not null,
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index verifications_identifier_idx on verifications (identifier);
comment on table verifications is 'Short-lived proofs in progress (mail confirmation, password reset).';

create table organisations (
  id uuid primary key,
  name text not null check (length(name) between 1 and 200),
  slug text not null check (slug ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  logo text,
  metadata text,
  home_cell smallint not null check (home_cell between 0 and 1023),
  status text not null default 'active' check (status in ('active', 'suspended')),
  suspended_at timestamptz,
  suspended_reason text check (length(suspended_reason) <= 500),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint organisations_slug_key unique (slug),
  constraint organisations_suspension_is_dated check ((status = 'suspended') = (suspended_at is not null))
);
create index organisations_created_idx on organisations (created_at, id);
comment on table organisations is 'Tenants. Money, keys and machines belong to an organisation, never to a person.';
comment on column organisations.home_cell is 'The cell that keeps this organisation''s money; other cells lease from it.';
comment on column organisations.status is 'suspended: every key of the organisation is refused within one second.';
comment on column organisations.metadata is 'Free JSON text of the sign-in library; Millrace decides nothing by it.';

create table members (
  id uuid primary key,
  org_id uuid not null references organisations (id) on delete restrict,
  user_id uuid not null references users (id) on delete restrict,
  role text not null check (role in ('owner', 'admin', 'member', 'billing', 'viewer')),
  created_at timestamptz not null default now(),
  constraint members_org_user_key unique (org_id, user_id)
);
create index members_user_id_idx on members (user_id);
comment on table members is 'Who belongs to which organisation, and as what. Every organisation keeps at least one owner.';
comment on column members.role is 'A name for a set of scopes; the sets are in the contract.';

create table invitations (
  id uuid primary key,
  org_id uuid not null references organisations (id) on delete restrict,
  email text not null check (email = lower(email)),
  role text check (role in ('owner', 'admin', 'member', 'billing', 'viewer')),
  status text not null default 'pending' check (status in ('pending', 'accepted', 'rejected', 'canceled')),
  inviter_id uuid not null references users (id) on delete restrict,
  expires_at timestamptz not null,
  created_at timestamptz not null default now()
);
create index invitations_org_id_idx on invitations (org_id);
create index invitations_email_idx on invitations (email);
comment on table invitations is 'Members to be: asked by mail, not yet answered.';
comment on column invitations.status is 'The spelling "canceled" is the sign-in library''s.';

create table platform_roles (
  user_id uuid not null references users (id) on delete restrict,
  role text not null check (role in ('operator', 'supplier')),
  created_at timestamptz not null default now(),
  primary key (user_id, role)
);
comment on table platform_roles is 'What a person may do on the installation itself, beyond any organisation.';

create table api_keys (
  id uuid primary key,
  public_id text not null check (public_id ~ '^[0-9A-HJKMNP-TV-Z]{12}$'),
  secret_sha256 bytea not null check (octet_length(secret_sha256) = 32),
  org_id uuid not null references organisations (id) on delete restrict,
  user_id uuid not null references users (id) on delete restrict,
  mode text not null check (mode in ('live', 'test')),
  name text not null check (length(name) between 1 and 100),
  scopes text[] not null,
  limits jsonb not null check (jsonb_typeof(limits) = 'object'),
  allowed_ips cidr[] not null default '{}',
  expires_at timestamptz,
  revoked_at timestamptz,
  revoked_reason text check (
    revoked_reason in ('revoked', 'rotated', 'expired', 'member_removed')
  ),
  rotated_from uuid references api_keys (id) on delete restrict,
  last_used_at timestamptz,
  next_action_at timestamptz,
  created_at timestamptz not null default now(),
  constraint api_keys_public_id_key unique (public_id),
  constraint api_keys_one_successor unique (rotated_from),
  constraint api_keys_revocation_has_a_reason check ((revoked_at is null) = (revoked_reason is null)),
  constraint api_keys_expiry_is_driven check (
    case
      when revoked_at is not null then next_action_at is null
      else (next_action_at is null) = (expires_at is null)
    end
  )
);
create index api_keys_org_idx on api_keys (org_id, id);
create index api_keys_user_idx on api_keys (user_id);
create index api_keys_next_action_idx on api_keys (next_action_at) where next_action_at is not null;
comment on table api_keys is 'Credentials of programs. A key belongs to one user and one organisation and works in one mode.';
comment on column api_keys.public_id is 'The part of the key that may be shown and logged; the look-up goes by it.';
comment on column api_keys.secret_sha256 is 'SHA-256 of the 190-bit random secret. The secret itself is shown once and stored nowhere.';
comment on column api_keys.scopes is 'The most this key may do; what it may do now is this cut with its user''s present role.';
comment on column api_keys.limits is 'Spending, rate, model, region and GPU limits as the contract has them; {} means none of its own.';
comment on column api_keys.allowed_ips is 'Networks the key may be used from; empty means anywhere.';
comment on column api_keys.expires_at is 'From this instant the key is refused, whether or not anything has noted it as revoked.';
comment on column api_keys.rotated_from is 'The key this one replaces. A key is replaced at most once.';
comment on column api_keys.last_used_at is 'Kept to about a minute; written behind the request.';
comment on column api_keys.next_action_at is 'When expiry must be noted and announced. Set exactly while an unrevoked key has an expiry, so a sweep can drive it if the workflow engine lost its timer.';

create table ssh_public_keys (
  id uuid primary key,
  org_id uuid not null references organisations (id) on delete restrict,
  user_id uuid not null references users (id) on delete restrict,
  mode text not null check (mode in ('live', 'test')),
  name text not null check (length(name) between 1 and 100),
  algorithm text not null,
  bits integer not null check (bits > 0),
  public_key text not null check (length(public_key) <= 16384 and public_key !~ '[\r\n]'),
  fingerprint text not null check (fingerprint ~ '^SHA256:[A-Za-z0-9+/]{43}$'),
  created_at timestamptz not null default now(),
  constraint ssh_public_keys_fingerprint_key unique (org_id, user_id, mode, fingerprint)
);
create index ssh_public_keys_org_idx on ssh_public_keys (org_id, mode, id);
comment on table ssh_public_keys is 'Public keys that machines are given. Normalised on the way in: one line, no options.';
comment on column ssh_public_keys.public_key is 'The OpenSSH form "algorithm base64", without options and without the comment.';
comment on column ssh_public_keys.fingerprint is 'As ssh-keygen -l prints it.';

create table audit_log (
  id uuid primary key,
  org_id uuid references organisations (id) on delete restrict,
  mode text not null check (mode in ('live', 'test')),
  actor_kind text not null check (actor_kind in ('key', 'user', 'operator', 'system')),
  actor_id text not null,
  action text not null check (action ~ '^[a-z_]+(\.[a-z_]+)+$'),
  resource_kind text not null,
  resource_id text not null,
  before jsonb,
  after jsonb,
  reason text check (length(reason) <= 500),
  request_id text,
  ip inet,
  occurred_at timestamptz not null default now()
);
create index audit_log_org_idx on audit_log (org_id, id desc);
create index audit_log_resource_idx on audit_log (resource_kind, resource_id, id desc);
comment on table audit_log is 'What changed, by whom, from where. Written in the transaction of the change; never updated or deleted.';
comment on column audit_log.org_id is 'The organisation concerned; null for acts on the installation itself.';
comment on column audit_log.actor_id is 'Text form of the actor''s id, or the name of a part of the system.';
comment on column audit_log.before is 'The fields that changed, before. Never a secret.';
comment on column audit_log.after is 'The fields that changed, after. Never a secret.';

comment on column audit_log.reason is 'What the actor gave as the reason, where the operation asks for one.';

revoke update, delete on audit_log from millrace_app;

create function refuse_audit_log_change() returns trigger language plpgsql as $$
begin
  raise exception 'audit_log is append-only: % refused', tg_op using errcode = 'restrict_violation';
end;
$$;
comment on function refuse_audit_log_change() is 'Keeps the audit log append-only for everyone, the application included.';

create trigger audit_log_append_only before update or delete on audit_log
  for each row execute function refuse_audit_log_change();
create trigger audit_log_no_truncate before truncate on audit_log
  for each statement execute function refuse_audit_log_change();
