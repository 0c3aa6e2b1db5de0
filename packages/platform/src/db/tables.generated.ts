// Generated from the migrated database by `npm run schema`. Do not edit.
import type { ColumnType, Generated, GeneratedAlways } from 'kysely';
import type { Json } from './json.ts';

export interface AccountsTable {
  id: string;
  user_id: string;
  account_id: string;
  provider_id: string;
  access_token: string | null;
  refresh_token: string | null;
  id_token: string | null;
  access_token_expires_at: Date | null;
  refresh_token_expires_at: Date | null;
  scope: string | null;
  password: string | null;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

export interface ApiKeysTable {
  id: string;
  public_id: string;
  secret_sha256: Buffer;
  org_id: string;
  user_id: string;
  mode: 'live' | 'test';
  name: string;
  scopes: string[];
  limits: ColumnType<Json, string, string>;
  allowed_ips: Generated<string[]>;
  expires_at: Date | null;
  revoked_at: Date | null;
  revoked_reason: 'revoked' | 'rotated' | 'expired' | 'member_removed' | null;
  rotated_from: string | null;
  last_used_at: Date | null;
  next_action_at: Date | null;
  created_at: Generated<Date>;
}

export interface AuditLogTable {
  id: string;
  org_id: string | null;
  mode: 'live' | 'test';
  actor_kind: 'key' | 'user' | 'operator' | 'system';
  actor_id: string;
  action: string;
  resource_kind: string;
  resource_id: string;
  before: ColumnType<Json | null, string | null, string | null>;
  after: ColumnType<Json | null, string | null, string | null>;
  reason: string | null;
  request_id: string | null;
  ip: string | null;
  occurred_at: Generated<Date>;
}

export interface EventHeadsTable {
  org_id: string;
  last_seq: bigint;
  first_seq: Generated<bigint>;
}

export interface EventsTable {
  org_id: string;
  seq: bigint;
  id: string;
  type: string;
  resource_kind: string;
  resource_id: string;
  mode: 'live' | 'test';
  cell: number;
  shard: number;
  actor: ColumnType<Json, string, string>;
  traceparent: string | null;
  schema_version: number;
  api_version: string;
  occurred_at: Date;
  recorded_at: Generated<Date>;
  published_at: Date | null;
  data: ColumnType<Json, string, string>;
}

export interface IdBlocksTable {
  kind: 'rental' | 'volume';
  block: number;
  cell: number;
  next_id: bigint;
  dealt_at: Generated<Date>;
}

export interface IdempotencyKeysTable {
  org_id: string;
  key: string;
  operation_row_id: string;
  operation_id: string;
  request_hash: Buffer;
  mode: 'live' | 'test';
  actor: ColumnType<Json, string, string>;
  status: number | null;
  body: ColumnType<Json | null, string | null, string | null>;
  resource_kind: string | null;
  resource_id: string | null;
  created_at: Generated<Date>;
  expires_at: Date;
}

export interface InvitationsTable {
  id: string;
  org_id: string;
  email: string;
  role: 'owner' | 'admin' | 'member' | 'billing' | 'viewer' | null;
  status: Generated<'pending' | 'accepted' | 'rejected' | 'canceled'>;
  inviter_id: string;
  expires_at: Date;
  created_at: Generated<Date>;
}

export interface MembersTable {
  id: string;
  org_id: string;
  user_id: string;
  role: 'owner' | 'admin' | 'member' | 'billing' | 'viewer';
  created_at: Generated<Date>;
}

export interface OrganisationsTable {
  id: string;
  name: string;
  slug: string;
  logo: string | null;
  metadata: string | null;
  home_cell: number;
  status: Generated<'active' | 'suspended'>;
  suspended_at: Date | null;
  suspended_reason: string | null;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

export interface OutboxTable {
  id: string;
  seq: GeneratedAlways<bigint>;
  kind: 'event' | 'command';
  cell: number;
  shard: number;
  org_id: string;
  mode: 'live' | 'test';
  type: string | null;
  resource_kind: string | null;
  resource_id: string | null;
  service: string | null;
  object_key: string | null;
  handler: string | null;
  not_before: Date | null;
  payload: ColumnType<Json, string, string>;
  actor: ColumnType<Json, string, string>;
  traceparent: string | null;
  schema_version: number;
  occurred_at: Date;
  created_at: Generated<Date>;
  attempts: Generated<number>;
  next_attempt_at: Date | null;
  last_error: string | null;
  parked_at: Date | null;
}

export interface PlatformRolesTable {
  user_id: string;
  role: 'operator' | 'supplier';
  created_at: Generated<Date>;
}

export interface RelayLeasesTable {
  shard: number;
  holder: string;
  fence: bigint;
  expires_at: Date;
}

export interface RelaysTable {
  holder: string;
  expires_at: Date;
}

export interface SchemaMigrationsTable {
  version: number;
  name: string;
  sha256: string;
  applied_at: Generated<Date>;
}

export interface SessionsTable {
  id: string;
  user_id: string;
  token: string;
  expires_at: Date;
  ip_address: string | null;
  user_agent: string | null;
  active_org_id: string | null;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

export interface SshPublicKeysTable {
  id: string;
  org_id: string;
  user_id: string;
  mode: 'live' | 'test';
  name: string;
  algorithm: string;
  bits: number;
  public_key: string;
  fingerprint: string;
  created_at: Generated<Date>;
}

export interface UsersTable {
  id: string;
  name: string;
  email: string;
  email_verified: Generated<boolean>;
  image: string | null;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

export interface VerificationsTable {
  id: string;
  identifier: string;
  value: string;
  expires_at: Date;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

export interface GeneratedTables {
  accounts: AccountsTable;
  api_keys: ApiKeysTable;
  audit_log: AuditLogTable;
  event_heads: EventHeadsTable;
  events: EventsTable;
  id_blocks: IdBlocksTable;
  idempotency_keys: IdempotencyKeysTable;
  invitations: InvitationsTable;
  members: MembersTable;
  organisations: OrganisationsTable;
  outbox: OutboxTable;
  platform_roles: PlatformRolesTable;
  relay_leases: RelayLeasesTable;
  relays: RelaysTable;
  schema_migrations: SchemaMigrationsTable;
  sessions: SessionsTable;
  ssh_public_keys: SshPublicKeysTable;
  users: UsersTable;
  verifications: VerificationsTable;
}
