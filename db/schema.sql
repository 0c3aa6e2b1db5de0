-- The schema after all migrations, for reading and for review. Generated; do not edit.
-- Regenerate with: npm run schema

CREATE FUNCTION public.refuse_audit_log_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  raise exception 'audit_log is append-only: % refused', tg_op using errcode = 'restrict_violation';
end;
$$;

COMMENT ON FUNCTION public.refuse_audit_log_change() IS 'Keeps the audit log append-only for everyone, the application included.';

CREATE TABLE public.accounts (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    account_id text NOT NULL,
    provider_id text NOT NULL,
    access_token text,
    refresh_token text,
    id_token text,
    access_token_expires_at timestamp with time zone,
    refresh_token_expires_at timestamp with time zone,
    scope text,
    password text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

COMMENT ON TABLE public.accounts IS 'The ways a user can sign in: one row per password or outside provider.';

COMMENT ON COLUMN public.accounts.password IS 'A slow salted hash, never the password.';

CREATE TABLE public.api_keys (
    id uuid NOT NULL,
    public_id text NOT NULL,
    secret_sha256 bytea NOT NULL,
    org_id uuid NOT NULL,
    user_id uuid NOT NULL,
    mode text NOT NULL,
    name text NOT NULL,
    scopes text[] NOT NULL,
    limits jsonb NOT NULL,
    allowed_ips cidr[] DEFAULT '{}'::cidr[] NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    revoked_reason text,
    rotated_from uuid,
    last_used_at timestamp with time zone,
    next_action_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT api_keys_expiry_is_driven CHECK (
CASE
    WHEN (revoked_at IS NOT NULL) THEN (next_action_at IS NULL)
    ELSE ((next_action_at IS NULL) = (expires_at IS NULL))
END),
    CONSTRAINT api_keys_limits_check CHECK ((jsonb_typeof(limits) = 'object'::text)),
    CONSTRAINT api_keys_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT api_keys_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
    CONSTRAINT api_keys_public_id_check CHECK ((public_id ~ '^[0-9A-HJKMNP-TV-Z]{12}$'::text)),
    CONSTRAINT api_keys_revocation_has_a_reason CHECK (((revoked_at IS NULL) = (revoked_reason IS NULL))),
    CONSTRAINT api_keys_revoked_reason_check CHECK ((revoked_reason = ANY (ARRAY['revoked'::text, 'rotated'::text, 'expired'::text, 'member_removed'::text]))),
    CONSTRAINT api_keys_secret_sha256_check CHECK ((octet_length(secret_sha256) = 32))
);

COMMENT ON TABLE public.api_keys IS 'Credentials of programs. A key belongs to one user and one organisation and works in one mode.';

COMMENT ON COLUMN public.api_keys.public_id IS 'The part of the key that may be shown and logged; the look-up goes by it.';

COMMENT ON COLUMN public.api_keys.secret_sha256 IS 'SHA-256 of the 190-bit random secret. The secret itself is shown once and stored nowhere.';

COMMENT ON COLUMN public.api_keys.scopes IS 'The most this key may do; what it may do now is this cut with its user''s present role.';

COMMENT ON COLUMN public.api_keys.limits IS 'Spending, rate, model, region and GPU limits as the contract has them; {} means none of its own.';

COMMENT ON COLUMN public.api_keys.allowed_ips IS 'Networks the key may be used from; empty means anywhere.';

COMMENT ON COLUMN public.api_keys.expires_at IS 'From this instant the key is refused, whether or not anything has noted it as revoked.';

COMMENT ON COLUMN public.api_keys.rotated_from IS 'The key this one replaces. A key is replaced at most once.';

COMMENT ON COLUMN public.api_keys.last_used_at IS 'Kept to about a minute; written behind the request.';

COMMENT ON COLUMN public.api_keys.next_action_at IS 'When expiry must be noted and announced. Set exactly while an unrevoked key has an expiry, so a sweep can drive it if the workflow engine lost its timer.';

CREATE TABLE public.audit_log (
    id uuid NOT NULL,
    org_id uuid,
    mode text NOT NULL,
    actor_kind text NOT NULL,
    actor_id text NOT NULL,
    action text NOT NULL,
    resource_kind text NOT NULL,
    resource_id text NOT NULL,
    before jsonb,
    after jsonb,
    reason text,
    request_id text,
    ip inet,
    occurred_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT audit_log_action_check CHECK ((action ~ '^[a-z_]+(\.[a-z_]+)+$'::text)),
    CONSTRAINT audit_log_actor_kind_check CHECK ((actor_kind = ANY (ARRAY['key'::text, 'user'::text, 'operator'::text, 'system'::text]))),
    CONSTRAINT audit_log_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT audit_log_reason_check CHECK ((length(reason) <= 500))
);

COMMENT ON TABLE public.audit_log IS 'What changed, by whom, from where. Written in the transaction of the change; never updated or deleted.';

COMMENT ON COLUMN public.audit_log.org_id IS 'The organisation concerned; null for acts on the installation itself.';

COMMENT ON COLUMN public.audit_log.actor_id IS 'Text form of the actor''s id, or the name of a part of the system.';

COMMENT ON COLUMN public.audit_log.before IS 'The fields that changed, before. Never a secret.';

COMMENT ON COLUMN public.audit_log.after IS 'The fields that changed, after. Never a secret.';

COMMENT ON COLUMN public.audit_log.reason IS 'What the actor gave as the reason, where the operation asks for one.';

CREATE TABLE public.event_heads (
    org_id uuid NOT NULL,
    last_seq bigint NOT NULL,
    first_seq bigint DEFAULT 1 NOT NULL,
    CONSTRAINT event_heads_first_seq_check CHECK ((first_seq >= 1)),
    CONSTRAINT event_heads_in_order CHECK ((first_seq <= (last_seq + 1))),
    CONSTRAINT event_heads_last_seq_check CHECK ((last_seq >= 0))
)
WITH (fillfactor='70');

COMMENT ON TABLE public.event_heads IS 'One row per organisation that ever had an event. Its row lock is what makes two writers take turns.';

COMMENT ON COLUMN public.event_heads.org_id IS 'No foreign key: the row that announced the event was written in a transaction that knew the organisation.';

COMMENT ON COLUMN public.event_heads.last_seq IS 'The number of the newest event. Grows in the statement that stores the events, so it never runs ahead of them.';

COMMENT ON COLUMN public.event_heads.first_seq IS 'The number of the oldest event still kept. A reader further back is told so instead of skipping silently.';

CREATE TABLE public.events (
    org_id uuid NOT NULL,
    seq bigint NOT NULL,
    id uuid NOT NULL,
    type text NOT NULL,
    resource_kind text NOT NULL,
    resource_id text NOT NULL,
    mode text NOT NULL,
    cell smallint NOT NULL,
    shard smallint NOT NULL,
    actor jsonb NOT NULL,
    traceparent text,
    schema_version integer NOT NULL,
    api_version text NOT NULL,
    occurred_at timestamp with time zone NOT NULL,
    recorded_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    published_at timestamp with time zone,
    data jsonb NOT NULL,
    CONSTRAINT events_actor_check CHECK ((actor ?& ARRAY['kind'::text, 'id'::text])),
    CONSTRAINT events_api_version_check CHECK ((api_version ~ '^[0-9]+\.[0-9]+\.[0-9]+$'::text)),
    CONSTRAINT events_cell_check CHECK (((cell >= 0) AND (cell <= 1023))),
    CONSTRAINT events_data_is_a_bounded_object CHECK (((jsonb_typeof(data) = 'object'::text) AND (octet_length((data)::text) <= 262144))),
    CONSTRAINT events_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT events_resource_id_check CHECK (((length(resource_id) >= 1) AND (length(resource_id) <= 100))),
    CONSTRAINT events_resource_kind_check CHECK (((length(resource_kind) >= 1) AND (length(resource_kind) <= 50))),
    CONSTRAINT events_schema_version_check CHECK ((schema_version > 0)),
    CONSTRAINT events_seq_check CHECK ((seq >= 1)),
    CONSTRAINT events_shard_check CHECK (((shard >= 0) AND (shard <= 63))),
    CONSTRAINT events_traceparent_check CHECK ((length(traceparent) = 55)),
    CONSTRAINT events_type_check CHECK (((type ~ '^[a-z][a-z_]*(\.[a-z][a-z_]*)+$'::text) AND (length(type) <= 100)))
)
WITH (fillfactor='85');

COMMENT ON TABLE public.events IS 'The feed of every organisation, in order. Written by the relay alone; changed only to note publication; removed only by retention.';

COMMENT ON COLUMN public.events.seq IS 'Counts from 1 within the organisation, without holes. Allotted after commit of the cause, by the relay that holds the shard.';

COMMENT ON COLUMN public.events.id IS 'The id of the outbox row: the same event cannot be stored twice, and JetStream drops a second publication by it.';

COMMENT ON COLUMN public.events.mode IS 'live or test. A test key reads the test events only.';

COMMENT ON COLUMN public.events.shard IS 'As in the outbox, so that a relay finds what it still has to publish.';

COMMENT ON COLUMN public.events.api_version IS 'The version of the interface whose shapes the data has.';

COMMENT ON COLUMN public.events.occurred_at IS 'When the cause happened, by the clock of the process that wrote it.';

COMMENT ON COLUMN public.events.recorded_at IS 'When the event got its number, by the clock of the database. Retention goes by this.';

COMMENT ON COLUMN public.events.published_at IS 'When JetStream acknowledged it; null means the relay still has to publish it.';

COMMENT ON COLUMN public.events.data IS 'What the event says, at most 256 KiB, which fits a NATS message with room to spare. Never a secret.';

CREATE TABLE public.id_blocks (
    kind text NOT NULL,
    block smallint NOT NULL,
    cell smallint NOT NULL,
    next_id bigint NOT NULL,
    dealt_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT id_blocks_block_check CHECK (((block >= 0) AND (block <= 2047))),
    CONSTRAINT id_blocks_cell_check CHECK (((cell >= 0) AND (cell <= 63))),
    CONSTRAINT id_blocks_dealt_by_rule CHECK ((((block)::integer % 64) = cell)),
    CONSTRAINT id_blocks_kind_check CHECK ((kind = ANY (ARRAY['rental'::text, 'volume'::text]))),
    CONSTRAINT id_blocks_within_block CHECK (((next_id >= GREATEST((1)::bigint, ((block)::bigint * 1048576))) AND (next_id <= (((block)::bigint + 1) * 1048576))))
);

COMMENT ON TABLE public.id_blocks IS 'Blocks of 32-bit wire ids this cell has taken, each 1048576 ids long. Block n belongs to cell n mod 64 for ever, so cells need not ask each other.';

COMMENT ON COLUMN public.id_blocks.kind IS 'Rentals and volumes count separately.';

COMMENT ON COLUMN public.id_blocks.block IS 'The block holds the ids from block * 1048576 up to the next block; id 0 is never given.';

COMMENT ON COLUMN public.id_blocks.next_id IS 'The first id of the block not yet handed to a process. Equal to the start of the next block when this one is used up.';

CREATE TABLE public.idempotency_keys (
    org_id uuid NOT NULL,
    key text NOT NULL,
    operation_row_id uuid NOT NULL,
    operation_id text NOT NULL,
    request_hash bytea NOT NULL,
    mode text NOT NULL,
    actor jsonb NOT NULL,
    status integer,
    body jsonb,
    resource_kind text,
    resource_id text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT idempotency_keys_actor_check CHECK ((actor ?& ARRAY['kind'::text, 'id'::text])),
    CONSTRAINT idempotency_keys_expires_after_creation CHECK ((expires_at > created_at)),
    CONSTRAINT idempotency_keys_key_check CHECK (((length(key) >= 1) AND (length(key) <= 255))),
    CONSTRAINT idempotency_keys_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT idempotency_keys_operation_id_check CHECK (((length(operation_id) >= 1) AND (length(operation_id) <= 100))),
    CONSTRAINT idempotency_keys_request_hash_check CHECK ((length(request_hash) = 32)),
    CONSTRAINT idempotency_keys_resource_id_check CHECK (((length(resource_id) >= 1) AND (length(resource_id) <= 100))),
    CONSTRAINT idempotency_keys_resource_kind_check CHECK (((length(resource_kind) >= 1) AND (length(resource_kind) <= 50))),
    CONSTRAINT idempotency_keys_status_check CHECK (((status >= 200) AND (status <= 299)))
);

COMMENT ON TABLE public.idempotency_keys IS 'One row for each effect made under an Idempotency-Key, in the same transaction as the effect. Refusals leave no row.';

COMMENT ON COLUMN public.idempotency_keys.key IS 'As the caller sent it; unique within the organisation.';

COMMENT ON COLUMN public.idempotency_keys.operation_row_id IS 'The public id (op_…) under which the caller can look this operation up.';

COMMENT ON COLUMN public.idempotency_keys.operation_id IS 'Which operation of the contract it was.';

COMMENT ON COLUMN public.idempotency_keys.request_hash IS 'SHA-256 over operation, path and canonical body: the same key with another request is refused.';

COMMENT ON COLUMN public.idempotency_keys.status IS 'HTTP status answered. Null only inside the transaction that is making the effect.';

COMMENT ON COLUMN public.idempotency_keys.body IS 'The answer to replay, without secrets that are shown once.';

COMMENT ON COLUMN public.idempotency_keys.resource_kind IS 'What the operation made or changed.';

COMMENT ON COLUMN public.idempotency_keys.resource_id IS 'The public id of what the operation made or changed.';

COMMENT ON COLUMN public.idempotency_keys.expires_at IS 'After this the key may be forgotten and used anew.';

CREATE TABLE public.invitations (
    id uuid NOT NULL,
    org_id uuid NOT NULL,
    email text NOT NULL,
    role text,
    status text DEFAULT 'pending'::text NOT NULL,
    inviter_id uuid NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT invitations_email_check CHECK ((email = lower(email))),
    CONSTRAINT invitations_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'member'::text, 'billing'::text, 'viewer'::text]))),
    CONSTRAINT invitations_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'accepted'::text, 'rejected'::text, 'canceled'::text])))
);

COMMENT ON TABLE public.invitations IS 'Members to be: asked by mail, not yet answered.';

COMMENT ON COLUMN public.invitations.status IS 'The spelling "canceled" is the sign-in library''s.';

CREATE TABLE public.members (
    id uuid NOT NULL,
    org_id uuid NOT NULL,
    user_id uuid NOT NULL,
    role text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT members_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'member'::text, 'billing'::text, 'viewer'::text])))
);

COMMENT ON TABLE public.members IS 'Who belongs to which organisation, and as what. Every organisation keeps at least one owner.';

COMMENT ON COLUMN public.members.role IS 'A name for a set of scopes; the sets are in the contract.';

CREATE TABLE public.organisations (
    id uuid NOT NULL,
    name text NOT NULL,
    slug text NOT NULL,
    logo text,
    metadata text,
    home_cell smallint NOT NULL,
    status text DEFAULT 'active'::text NOT NULL,
    suspended_at timestamp with time zone,
    suspended_reason text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT organisations_home_cell_check CHECK (((home_cell >= 0) AND (home_cell <= 1023))),
    CONSTRAINT organisations_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
    CONSTRAINT organisations_slug_check CHECK ((slug ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'::text)),
    CONSTRAINT organisations_status_check CHECK ((status = ANY (ARRAY['active'::text, 'suspended'::text]))),
    CONSTRAINT organisations_suspended_reason_check CHECK ((length(suspended_reason) <= 500)),
    CONSTRAINT organisations_suspension_is_dated CHECK (((status = 'suspended'::text) = (suspended_at IS NOT NULL)))
);

COMMENT ON TABLE public.organisations IS 'Tenants. Money, keys and machines belong to an organisation, never to a person.';

COMMENT ON COLUMN public.organisations.metadata IS 'Free JSON text of the sign-in library; Millrace decides nothing by it.';

COMMENT ON COLUMN public.organisations.home_cell IS 'The cell that keeps this organisation''s money; other cells lease from it.';

COMMENT ON COLUMN public.organisations.status IS 'suspended: every key of the organisation is refused within one second.';

CREATE TABLE public.outbox (
    id uuid NOT NULL,
    seq bigint NOT NULL,
    kind text NOT NULL,
    cell smallint NOT NULL,
    shard smallint NOT NULL,
    org_id uuid NOT NULL,
    mode text NOT NULL,
    type text,
    resource_kind text,
    resource_id text,
    service text,
    object_key text,
    handler text,
    not_before timestamp with time zone,
    payload jsonb NOT NULL,
    actor jsonb NOT NULL,
    traceparent text,
    schema_version integer NOT NULL,
    occurred_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    next_attempt_at timestamp with time zone,
    last_error text,
    parked_at timestamp with time zone,
    CONSTRAINT outbox_actor_check CHECK ((actor ?& ARRAY['kind'::text, 'id'::text])),
    CONSTRAINT outbox_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT outbox_cell_check CHECK (((cell >= 0) AND (cell <= 1023))),
    CONSTRAINT outbox_command_shape CHECK (((kind <> 'command'::text) OR ((service IS NOT NULL) AND (object_key IS NOT NULL) AND (handler IS NOT NULL) AND (type IS NULL) AND (resource_kind IS NULL) AND (resource_id IS NULL)))),
    CONSTRAINT outbox_event_shape CHECK (((kind <> 'event'::text) OR ((type IS NOT NULL) AND (resource_kind IS NOT NULL) AND (resource_id IS NOT NULL) AND (service IS NULL) AND (object_key IS NULL) AND (handler IS NULL) AND (not_before IS NULL)))),
    CONSTRAINT outbox_handler_check CHECK (((length(handler) >= 1) AND (length(handler) <= 100))),
    CONSTRAINT outbox_kind_check CHECK ((kind = ANY (ARRAY['event'::text, 'command'::text]))),
    CONSTRAINT outbox_last_error_check CHECK ((length(last_error) <= 2000)),
    CONSTRAINT outbox_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT outbox_object_key_check CHECK (((length(object_key) >= 1) AND (length(object_key) <= 200))),
    CONSTRAINT outbox_parked_has_an_error CHECK (((parked_at IS NULL) OR (last_error IS NOT NULL))),
    CONSTRAINT outbox_resource_id_check CHECK (((length(resource_id) >= 1) AND (length(resource_id) <= 100))),
    CONSTRAINT outbox_resource_kind_check CHECK (((length(resource_kind) >= 1) AND (length(resource_kind) <= 50))),
    CONSTRAINT outbox_schema_version_check CHECK ((schema_version > 0)),
    CONSTRAINT outbox_service_check CHECK (((length(service) >= 1) AND (length(service) <= 100))),
    CONSTRAINT outbox_shard_check CHECK (((shard >= 0) AND (shard <= 63))),
    CONSTRAINT outbox_traceparent_check CHECK ((length(traceparent) = 55)),
    CONSTRAINT outbox_type_check CHECK (((type ~ '^[a-z][a-z_]*(\.[a-z][a-z_]*)+$'::text) AND (length(type) <= 100)))
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='5000', autovacuum_vacuum_cost_delay='0');

COMMENT ON TABLE public.outbox IS 'What a transaction wants the world to know or to do. Written with the cause, delivered at least once by the relay, deleted after delivery.';

COMMENT ON COLUMN public.outbox.id IS 'Also the id of the event in the feed, and the idempotency key of the command.';

COMMENT ON COLUMN public.outbox.seq IS 'Order of insertion. Not the order of commit, and with gaps: readers must not treat it as a watermark.';

COMMENT ON COLUMN public.outbox.kind IS 'An event goes to JetStream and the feed; a command calls a Restate handler.';

COMMENT ON COLUMN public.outbox.cell IS 'The cell whose transaction wrote this row.';

COMMENT ON COLUMN public.outbox.shard IS 'Low six bits of org_id. One relay at a time works a shard, so an organisation has one writer.';

COMMENT ON COLUMN public.outbox.type IS 'Events only: what happened, such as key.created.';

COMMENT ON COLUMN public.outbox.resource_kind IS 'Events only: what it happened to.';

COMMENT ON COLUMN public.outbox.resource_id IS 'Events only: the public id of what it happened to.';

COMMENT ON COLUMN public.outbox.service IS 'Commands only: the Restate service to call.';

COMMENT ON COLUMN public.outbox.object_key IS 'Commands only: the key of the Restate object to call.';

COMMENT ON COLUMN public.outbox.handler IS 'Commands only: the handler to call.';

COMMENT ON COLUMN public.outbox.not_before IS 'Commands only: the instant before which the handler must not run. An instant and not a delay, so that an outage adds nothing to it.';

COMMENT ON COLUMN public.outbox.payload IS 'The data of the event or the argument of the command; its shape is named by schema_version.';

COMMENT ON COLUMN public.outbox.actor IS 'Who caused it: {"kind": "key" | "user" | "operator" | "system", "id": "…"}.';

COMMENT ON COLUMN public.outbox.traceparent IS 'W3C trace context of the cause, so that one trace spans request, relay and handler.';

COMMENT ON COLUMN public.outbox.schema_version IS 'Version of the payload''s shape.';

COMMENT ON COLUMN public.outbox.occurred_at IS 'When the cause happened, by the clock of the process.';

COMMENT ON COLUMN public.outbox.created_at IS 'When the transaction that wrote the row began, by the clock of the database.';

COMMENT ON COLUMN public.outbox.attempts IS 'How often delivery of this row was refused. Outages of the other side do not count.';

COMMENT ON COLUMN public.outbox.next_attempt_at IS 'Not tried again before this instant, by the clock of the database.';

COMMENT ON COLUMN public.outbox.last_error IS 'Why the latest attempt was refused.';

COMMENT ON COLUMN public.outbox.parked_at IS 'Since when the relay leaves this row alone. Clearing parked_at and attempts tries it again.';

ALTER TABLE public.outbox ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.outbox_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.platform_roles (
    user_id uuid NOT NULL,
    role text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT platform_roles_role_check CHECK ((role = ANY (ARRAY['operator'::text, 'supplier'::text])))
);

COMMENT ON TABLE public.platform_roles IS 'What a person may do on the installation itself, beyond any organisation.';

CREATE TABLE public.relay_leases (
    shard smallint NOT NULL,
    holder text NOT NULL,
    fence bigint NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT relay_leases_fence_check CHECK ((fence > 0)),
    CONSTRAINT relay_leases_holder_check CHECK (((length(holder) >= 1) AND (length(holder) <= 200))),
    CONSTRAINT relay_leases_shard_check CHECK (((shard >= 0) AND (shard <= 63)))
);

COMMENT ON TABLE public.relay_leases IS 'Which process relays a shard of the outbox. Losing the lease is harmless: the fence refuses the late writer.';

COMMENT ON COLUMN public.relay_leases.holder IS 'Names the process, for operators.';

COMMENT ON COLUMN public.relay_leases.fence IS 'Grows with every change of holder. Whatever the holder writes is guarded by it.';

COMMENT ON COLUMN public.relay_leases.expires_at IS 'By the clock of the database, which all relays share.';

CREATE TABLE public.relays (
    holder text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT relays_holder_check CHECK (((length(holder) >= 1) AND (length(holder) <= 200)))
);

COMMENT ON TABLE public.relays IS 'The relay processes alive now. Each takes its share of the shards, so a new one must be visible before it holds any.';

COMMENT ON COLUMN public.relays.expires_at IS 'Kept ahead by the process while it lives, by the clock of the database.';

CREATE TABLE public.schema_migrations (
    version integer NOT NULL,
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

COMMENT ON TABLE public.schema_migrations IS 'Which migrations this database has had. Written by the migrator only.';

COMMENT ON COLUMN public.schema_migrations.sha256 IS 'Digest of the file as it was applied; a changed file is refused.';

CREATE TABLE public.sessions (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    token text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    ip_address text,
    user_agent text,
    active_org_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

COMMENT ON TABLE public.sessions IS 'Signed-in browsers. Written by the sign-in library only; API calls use api_keys.';

COMMENT ON COLUMN public.sessions.active_org_id IS 'The organisation the person is looking at; a preference, never a permission.';

CREATE TABLE public.ssh_public_keys (
    id uuid NOT NULL,
    org_id uuid NOT NULL,
    user_id uuid NOT NULL,
    mode text NOT NULL,
    name text NOT NULL,
    algorithm text NOT NULL,
    bits integer NOT NULL,
    public_key text NOT NULL,
    fingerprint text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT ssh_public_keys_bits_check CHECK ((bits > 0)),
    CONSTRAINT ssh_public_keys_fingerprint_check CHECK ((fingerprint ~ '^SHA256:[A-Za-z0-9+/]{43}$'::text)),
    CONSTRAINT ssh_public_keys_mode_check CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text]))),
    CONSTRAINT ssh_public_keys_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
    CONSTRAINT ssh_public_keys_public_key_check CHECK (((length(public_key) <= 16384) AND (public_key !~ '[\r\n]'::text)))
);

COMMENT ON TABLE public.ssh_public_keys IS 'Public keys that machines are given. Normalised on the way in: one line, no options.';

COMMENT ON COLUMN public.ssh_public_keys.public_key IS 'The OpenSSH form "algorithm base64", without options and without the comment.';

COMMENT ON COLUMN public.ssh_public_keys.fingerprint IS 'As ssh-keygen -l prints it.';

CREATE TABLE public.users (
    id uuid NOT NULL,
    name text NOT NULL,
    email text NOT NULL,
    email_verified boolean DEFAULT false NOT NULL,
    image text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT users_email_check CHECK (((email = lower(email)) AND (length(email) <= 255) AND (POSITION(('@'::text) IN (email)) > 1))),
    CONSTRAINT users_name_check CHECK (((length(name) >= 1) AND (length(name) <= 255)))
);

COMMENT ON TABLE public.users IS 'People. A person exists once, however many organisations they belong to.';

COMMENT ON COLUMN public.users.email IS 'Always lower case, so that one mailbox is one user.';

COMMENT ON COLUMN public.users.email_verified IS 'True once the person has shown they read this mailbox; sign-in maintains it.';

CREATE TABLE public.verifications (
    id uuid NOT NULL,
    identifier text NOT NULL,
    value text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

COMMENT ON TABLE public.verifications IS 'Short-lived proofs in progress (mail confirmation, password reset).';

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_provider_account_key UNIQUE (provider_id, account_id);

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_one_successor UNIQUE (rotated_from);

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_public_id_key UNIQUE (public_id);

ALTER TABLE ONLY public.audit_log
    ADD CONSTRAINT audit_log_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.event_heads
    ADD CONSTRAINT event_heads_pkey PRIMARY KEY (org_id);

ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_id_key UNIQUE (id);

ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (org_id, seq);

ALTER TABLE ONLY public.id_blocks
    ADD CONSTRAINT id_blocks_pkey PRIMARY KEY (kind, block);

ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_operation_row_id_key UNIQUE (operation_row_id);

ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (org_id, key);

ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT invitations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.members
    ADD CONSTRAINT members_org_user_key UNIQUE (org_id, user_id);

ALTER TABLE ONLY public.members
    ADD CONSTRAINT members_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.organisations
    ADD CONSTRAINT organisations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.organisations
    ADD CONSTRAINT organisations_slug_key UNIQUE (slug);

ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.platform_roles
    ADD CONSTRAINT platform_roles_pkey PRIMARY KEY (user_id, role);

ALTER TABLE ONLY public.relay_leases
    ADD CONSTRAINT relay_leases_pkey PRIMARY KEY (shard);

ALTER TABLE ONLY public.relays
    ADD CONSTRAINT relays_pkey PRIMARY KEY (holder);

ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_token_key UNIQUE (token);

ALTER TABLE ONLY public.ssh_public_keys
    ADD CONSTRAINT ssh_public_keys_fingerprint_key UNIQUE (org_id, user_id, mode, fingerprint);

ALTER TABLE ONLY public.ssh_public_keys
    ADD CONSTRAINT ssh_public_keys_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_email_key UNIQUE (email);

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.verifications
    ADD CONSTRAINT verifications_pkey PRIMARY KEY (id);

CREATE INDEX accounts_user_id_idx ON public.accounts USING btree (user_id);

CREATE INDEX api_keys_next_action_idx ON public.api_keys USING btree (next_action_at) WHERE (next_action_at IS NOT NULL);

CREATE INDEX api_keys_org_idx ON public.api_keys USING btree (org_id, id);

CREATE INDEX api_keys_unrevoked_idx ON public.api_keys USING btree (org_id) WHERE (revoked_at IS NULL);

CREATE INDEX api_keys_user_idx ON public.api_keys USING btree (user_id);

CREATE INDEX audit_log_org_idx ON public.audit_log USING btree (org_id, id DESC);

CREATE INDEX audit_log_resource_idx ON public.audit_log USING btree (resource_kind, resource_id, id DESC);

CREATE INDEX events_recorded_idx ON public.events USING brin (recorded_at);

CREATE INDEX events_test_mode_idx ON public.events USING btree (org_id, seq) WHERE (mode = 'test'::text);

CREATE INDEX events_unpublished_idx ON public.events USING btree (shard, recorded_at, seq) WHERE (published_at IS NULL);

CREATE INDEX id_blocks_cell_idx ON public.id_blocks USING btree (kind, cell, block);

CREATE INDEX idempotency_keys_expires_at_idx ON public.idempotency_keys USING btree (expires_at);

CREATE INDEX invitations_email_idx ON public.invitations USING btree (email);

CREATE INDEX invitations_org_id_idx ON public.invitations USING btree (org_id);

CREATE INDEX members_user_id_idx ON public.members USING btree (user_id);

CREATE INDEX organisations_created_idx ON public.organisations USING btree (created_at, id);

CREATE INDEX outbox_commands_idx ON public.outbox USING btree (shard, seq) WHERE ((kind = 'command'::text) AND (parked_at IS NULL));

CREATE INDEX outbox_events_idx ON public.outbox USING btree (shard, seq) WHERE ((kind = 'event'::text) AND (parked_at IS NULL));

COMMENT ON INDEX public.outbox_events_idx IS 'Events and commands queue apart: commands that wait for an engine that is down must not be waded through to find events.';

CREATE INDEX outbox_parked_idx ON public.outbox USING btree (parked_at) WHERE (parked_at IS NOT NULL);

CREATE INDEX outbox_retrying_idx ON public.outbox USING btree (shard, service, object_key) WHERE ((kind = 'command'::text) AND (parked_at IS NULL) AND (next_attempt_at IS NOT NULL));

CREATE INDEX sessions_user_id_idx ON public.sessions USING btree (user_id);

CREATE INDEX ssh_public_keys_org_idx ON public.ssh_public_keys USING btree (org_id, mode, id);

CREATE INDEX verifications_identifier_idx ON public.verifications USING btree (identifier);

CREATE TRIGGER audit_log_append_only BEFORE DELETE OR UPDATE ON public.audit_log FOR EACH ROW EXECUTE FUNCTION public.refuse_audit_log_change();

CREATE TRIGGER audit_log_no_truncate BEFORE TRUNCATE ON public.audit_log FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_audit_log_change();

ALTER TABLE ONLY public.accounts
    ADD CONSTRAINT accounts_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_rotated_from_fkey FOREIGN KEY (rotated_from) REFERENCES public.api_keys(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.audit_log
    ADD CONSTRAINT audit_log_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT invitations_inviter_id_fkey FOREIGN KEY (inviter_id) REFERENCES public.users(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT invitations_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.members
    ADD CONSTRAINT members_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.members
    ADD CONSTRAINT members_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.platform_roles
    ADD CONSTRAINT platform_roles_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.ssh_public_keys
    ADD CONSTRAINT ssh_public_keys_org_id_fkey FOREIGN KEY (org_id) REFERENCES public.organisations(id) ON DELETE RESTRICT;

ALTER TABLE ONLY public.ssh_public_keys
    ADD CONSTRAINT ssh_public_keys_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE RESTRICT;

GRANT USAGE ON SCHEMA public TO millrace_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.accounts TO millrace_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.api_keys TO millrace_app;

GRANT SELECT,INSERT ON TABLE public.audit_log TO millrace_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.event_heads TO millrace_app;

GRANT SELECT,INSERT,DELETE ON TABLE public.events TO millrace_app;

GRANT UPDATE(published_at) ON TABLE public.events TO millrace_app;

GRANT SELECT,INSERT ON TABLE public.id_blocks TO millrace_app;

GRANT UPDATE(next_id) ON TABLE public.id_blocks TO millrace_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.idempotency_keys TO millrace_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.invitations TO millrace_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.members TO millrace_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.organisations TO millrace_app;

GRANT SELECT,INSERT,DELETE ON TABLE public.outbox TO millrace_app;

GRANT UPDATE(attempts) ON TABLE public.outbox TO millrace_app;

GRANT UPDATE(next_attempt_at) ON TABLE public.outbox TO millrace_app;

GRANT UPDATE(last_error) ON TABLE public.outbox TO millrace_app;

GRANT UPDATE(parked_at) ON TABLE public.outbox TO millrace_app;

GRANT SELECT,USAGE ON SEQUENCE public.outbox_seq_seq TO millrace_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.platform_roles TO millrace_app;

GRANT SELECT,INSERT,UPDATE ON TABLE public.relay_leases TO millrace_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.relays TO millrace_app;

GRANT SELECT ON TABLE public.schema_migrations TO millrace_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.sessions TO millrace_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.ssh_public_keys TO millrace_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.users TO millrace_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.verifications TO millrace_app;

ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT,USAGE ON SEQUENCES  TO millrace_app;

ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT,INSERT,DELETE,UPDATE ON TABLES  TO millrace_app;
