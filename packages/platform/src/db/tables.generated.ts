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

export interface AllLedgerEntriesTable {
  transfer_id: string | null;
  account_id: string | null;
  amount_nano_usd: bigint | null;
  account_seq: bigint | null;
  balance_after_nano_usd: bigint | null;
}

export interface AllLedgerTransfersTable {
  id: string | null;
  org_id: string | null;
  mode: string | null;
  kind: string | null;
  idempotency_key: string | null;
  cause_kind: string | null;
  cause_id: string | null;
  amount_nano_usd: bigint | null;
  balance_after_nano_usd: bigint | null;
  hold_id: string | null;
  reverses: string | null;
  key_id: string | null;
  description: string | null;
  usage: ColumnType<Json | null, string | null, string | null>;
  occurred_at: Date | null;
}

export interface AllocatedGpusTable {
  allocation_id: string;
  gpu_id: string;
  node_id: string;
  org_id: string;
  mode: 'live' | 'test';
  released_at: Date | null;
}

export interface AllocatedPortsTable {
  allocation_id: string;
  node_id: string;
  org_id: string;
  mode: 'live' | 'test';
  protocol: 'tcp' | 'udp';
  external_port: number;
  internal_port: number;
  released_at: Date | null;
}

export interface AllocationsTable {
  id: string;
  org_id: string;
  mode: 'live' | 'test';
  external_id: string;
  holder: 'rental' | 'instance';
  region: string;
  gpu_count: number;
  node_count: number;
  state: 'live' | 'releasing' | 'released';
  frees_at: Date | null;
  created_at: Date;
  released_at: Date | null;
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
  kind: Generated<'key' | 'seat'>;
}

export interface ArchivedLedgerEntriesTable {
  transfer_id: string;
  account_id: string;
  amount_nano_usd: bigint;
  account_seq: bigint;
  balance_after_nano_usd: bigint;
}

export interface ArchivedLedgerTransfersTable {
  id: string;
  org_id: string;
  mode: string;
  kind: string;
  idempotency_key: string;
  cause_kind: string;
  cause_id: string;
  amount_nano_usd: bigint;
  balance_after_nano_usd: bigint;
  hold_id: string | null;
  reverses: string | null;
  key_id: string | null;
  description: string;
  usage: ColumnType<Json | null, string | null, string | null>;
  occurred_at: Date;
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

export interface AuditMarksTable {
  account_id: string;
  entry_count: bigint;
  balance_nano_usd: bigint;
}

export interface AuditRunsTable {
  id: string;
  kind: 'full' | 'incremental';
  snapshot_at: Date;
  since: Date | null;
  duration_ms: bigint;
  is_clean: boolean;
  errors: bigint;
  notices: bigint;
  looked_at: ColumnType<Json, string, string>;
  findings: ColumnType<Json, string, string>;
}

export interface BookChangesTable {
  id: GeneratedAlways<bigint>;
  kind: 'key' | 'organisation' | 'model';
  ref: string;
  changed_at: Generated<Date>;
}

export interface BudgetsTable {
  id: string;
  org_id: string;
  mode: 'live' | 'test';
  name: string;
  key_ids: string[] | null;
  period: 'hour' | 'day' | 'week' | 'month' | 'total';
  limit_nano_usd: bigint;
  period_start: Date;
  period_end: Date | null;
  thresholds_percent: number[];
  notified_percent: Generated<number>;
  on_exceeded: 'notify' | 'stop_new_work' | 'stop_everything';
  created_at: Date;
  deleted_at: Date | null;
  is_key_limit: Generated<boolean>;
}

export interface ClusterComparisonsTable {
  cluster_id: string;
  turn: Generated<bigint>;
  holder: string | null;
  held_until: Date | null;
  looked_at: Date | null;
  watching_since: Date | null;
  whole_at: Date | null;
  problem: string | null;
  reap_allowed_until: Date | null;
}

export interface ClusterObserversTable {
  holder: string;
  expires_at: Date;
}

export interface ClustersTable {
  id: string;
  name: string;
  provider_id: string;
  region: string;
  driver: 'incus' | 'ironic' | 'mock';
  endpoint: string;
  credential_ref: string | null;
  settings: ColumnType<Json, string | undefined, string>;
  offer: 'virtual-machine' | 'bare-metal' | 'marketplace';
  connection_type: 'ethernet' | 'infiniband';
  supplier_org_id: string | null;
  port_first: Generated<number>;
  port_last: Generated<number>;
  origin: 'configuration' | 'operator' | 'supplier';
  configured: Generated<boolean>;
  status: 'connecting' | 'connected' | 'silent' | 'removed';
  status_reason: string | null;
  status_since: Date;
  engine: string | null;
  last_seen_at: Date | null;
  observer: string | null;
  observer_until: Date | null;
  watching_since: Date | null;
  beat_at: Date | null;
  created_at: Date;
  removed_at: Date | null;
}

export interface DemoMarkTable {
  is_only: Generated<boolean>;
  marked_at: Date;
}

export interface DeviceCodesTable {
  id: string;
  device_code: string;
  user_code: string;
  user_id: string | null;
  expires_at: Date;
  status: 'pending' | 'approved' | 'denied';
  last_polled_at: Date | null;
  polling_interval: number | null;
  client_id: string | null;
  scope: string | null;
  requested_ip: string | null;
  requested_agent: string | null;
  created_at: Generated<Date>;
}

export interface EntitlementsTable {
  id: string;
  org_id: string;
  mode: Generated<string>;
  max_discount_ppm: number;
  gpu_type: string | null;
  contract_reference: string | null;
  valid_from: Date;
  valid_until: Date | null;
  revoked_at: Date | null;
  created_at: Date;
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

export interface FabricsTable {
  id: string;
  cluster_id: string;
  name: string;
}

export interface GpusTable {
  id: string;
  node_id: string;
  pci_address: string;
  device_uuid: string | null;
  model: string;
  gpu_type: 'h100' | 'h200' | 'b200' | null;
  ram_mb: number | null;
  numa_node: number | null;
  state: 'present' | 'missing' | 'faulty' | 'replaced';
  state_reason: string | null;
  first_seen_at: Date;
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

export interface InferenceCheckpointsTable {
  request_id: string;
  org_id: string;
  mode: 'live' | 'test';
  lease_id: string;
  gateway_id: string;
  amount_nano_usd: bigint;
  event: ColumnType<Json, string, string>;
  recorded_at: Date;
}

export interface InferenceDeploymentsTable {
  id: string;
  model: string;
  engine: string;
  address: string;
  upstream_model: string;
  sealed_api_key: string | null;
  region: string;
  weight: number;
  max_concurrency: number | null;
  enabled: boolean;
  health: Generated<'unknown' | 'healthy' | 'degraded' | 'down'>;
  health_since: Date;
  created_at: Date;
  updated_at: Date;
}

export interface InferenceModelNamesTable {
  name: string;
  model: string;
}

export interface InferenceModelsTable {
  name: string;
  mode: 'live' | 'test';
  modality: 'chat' | 'completion' | 'image' | 'audio';
  input_modalities: string[];
  context_length: number | null;
  max_output_tokens: number | null;
  owned_by: string;
  enabled: boolean;
  visible_to: string[] | null;
  fallbacks: Generated<string[]>;
  requests_per_minute: number | null;
  created_at: Date;
  updated_at: Date;
}

export interface InferenceRequestsTable {
  id: string;
  org_id: string;
  mode: 'live' | 'test';
  key_id: string;
  lease_id: string | null;
  gateway_id: string;
  model: string;
  deployment: string | null;
  created_at: Date;
  streamed: boolean;
  cancelled: boolean;
  finish_reason: string | null;
  latency_ms: bigint;
  ttft_ms: bigint | null;
  generation_ms: bigint | null;
  tokens_prompt: bigint;
  tokens_cached: bigint;
  tokens_completion: bigint;
  image_pixel_steps: bigint;
  characters: bigint;
  reserved_nano_usd: bigint;
  priced_nano_usd: bigint;
  cost_nano_usd: bigint;
  price_ids: string[];
  attempts: ColumnType<Json, string, string>;
  source: 'final' | 'checkpoint';
  outcome: 'charged' | 'late' | 'unknown_lease' | 'overpriced' | 'free';
  transfer_id: string | null;
  recorded_at: Date;
  late_nano_usd: bigint | null;
  late_at: Date | null;
}

export interface InstancesTable {
  rental_id: string;
  org_id: string;
  mode: 'live' | 'test';
  name: string;
  node_id: string;
  cluster_name: string;
  price_nano_usd_per_gpu_hour: bigint;
  fee_ppm: number;
  record: ColumnType<Json, string, string>;
}

export interface InvitationsTable {
  id: string;
  org_id: string;
  email: string;
  role: 'owner' | 'admin' | 'member' | 'billing' | 'viewer';
  status: Generated<'pending' | 'accepted' | 'rejected' | 'canceled'>;
  inviter_id: string;
  expires_at: Date;
  created_at: Generated<Date>;
  notice_id: string | null;
  answered_at: Date | null;
}

export interface InvoiceCounterTable {
  is_only: Generated<boolean>;
  last_number: bigint;
}

export interface InvoiceGapsTable {
  first_number: bigint;
  last_number: bigint;
  noted_at: Date;
}

export interface InvoiceMonthsTable {
  month: Date;
  after_org: string | null;
  has_failed: Generated<boolean>;
  finished_at: Date | null;
}

export interface InvoicesTable {
  id: string;
  org_id: string;
  mode: string;
  number: bigint;
  period_start: Date;
  period_end: Date;
  total_nano_usd: bigint;
  lines: ColumnType<Json, string, string>;
  billed_to: string;
  issuer: string;
  finalized_at: Date;
}

export interface LedgerAccountsTable {
  id: string;
  kind: 'credit' | 'promo' | 'supplier_payable' | 'limit' | 'revenue' | 'platform_fee' | 'payments_clearing' | 'grants' | 'adjustments' | 'shortfall' | 'limit_contra';
  org_id: string | null;
  mode: 'live' | 'test';
  product: 'rental' | 'volume' | 'inference' | 'instance' | null;
  shard: number | null;
  balance_nano_usd: Generated<bigint>;
  held_nano_usd: Generated<bigint>;
  floor_nano_usd: bigint | null;
  entry_count: Generated<bigint>;
  priority: Generated<number>;
  expires_at: Date | null;
  frozen_at: Date | null;
  has_companions: Generated<boolean>;
  created_at: Generated<Date>;
  owed_nano_usd: Generated<bigint>;
  written_off_nano_usd: Generated<bigint>;
}

export interface LedgerArchivedKeysTable {
  key_hash: string;
  transfer_id: string;
}

export interface LedgerArchivedTotalsTable {
  subject: string;
  measure: 'hold_posted' | 'meter_paid' | 'meter_earned' | 'meter_fee' | 'meter_promo' | 'meter_charged' | 'budget_spent' | 'lease_used' | 'transfer_used';
  amount_nano_usd: string;
}

export interface LedgerArchivesTable {
  through: string;
  cutoff: string;
  begun_at: Generated<Date>;
  moved_to: string;
  moved_transfers: Generated<bigint>;
  moved_entries: Generated<bigint>;
  moved_at: Date | null;
}

export interface LedgerEntriesTable {
  transfer_id: string;
  account_id: string;
  amount_nano_usd: bigint;
  account_seq: bigint;
  balance_after_nano_usd: bigint;
}

export interface LedgerHoldPartsTable {
  hold_id: string;
  account_id: string;
  held_nano_usd: bigint;
}

export interface LedgerHoldsTable {
  id: string;
  org_id: string;
  mode: 'live' | 'test';
  idempotency_key: string;
  cause_kind: string;
  cause_id: string;
  key_id: string | null;
  held_nano_usd: bigint;
  posted_nano_usd: Generated<bigint>;
  created_at: Date;
  closed_at: Date | null;
}

export interface LedgerOpeningBalancesTable {
  account_id: string;
  entry_count: bigint;
  balance_nano_usd: bigint;
}

export interface LedgerTransfersTable {
  id: string;
  org_id: string;
  mode: 'live' | 'test';
  kind: 'top_up' | 'grant' | 'adjustment' | 'refund' | 'reversal' | 'charge' | 'credit' | 'payout' | 'clawback' | 'expiry' | 'budget';
  idempotency_key: string;
  cause_kind: string;
  cause_id: string;
  amount_nano_usd: bigint;
  balance_after_nano_usd: bigint;
  hold_id: string | null;
  reverses: string | null;
  key_id: string | null;
  description: string;
  usage: ColumnType<Json | null, string | null, string | null>;
  occurred_at: Date;
}

export interface ListingChangesTable {
  xid: Generated<string>;
  node_id: string;
}

export interface LoopItemsTable {
  loop: string;
  item: string;
  failures: number;
  free_at: Date;
  failing_since: Date | null;
  problem: string | null;
  holder: string | null;
}

export interface MailRefusalsTable {
  email: string;
  refused_at: Date;
}

export interface MaintenanceNodesTable {
  window_id: string;
  node_id: string;
  hold: Generated<'waiting' | 'held' | 'left'>;
}

export interface MaintenanceNoticesTable {
  window_id: string;
  allocation_id: string;
  org_id: string;
  mode: 'live' | 'test';
  told: 'announced' | 'started' | 'ended';
  told_at: Date;
}

export interface MaintenanceWindowsTable {
  id: string;
  summary: string;
  status: 'announced' | 'in_progress' | 'completed' | 'cancelled';
  drains_at: Date;
  starts_at: Date;
  ends_at: Date;
  ended_at: Date | null;
  created_at: Date;
}

export interface MembersTable {
  id: string;
  org_id: string;
  user_id: string;
  role: 'owner' | 'admin' | 'member' | 'billing' | 'viewer';
  created_at: Generated<Date>;
}

export interface MeterShardsTable {
  shard: number;
  swept_at: Generated<Date>;
}

export interface MeterTransitionsTable {
  meter_id: string;
  seq: number;
  org_id: string;
  mode: 'live' | 'test';
  kind: 'opened' | 'paused' | 'resumed' | 'closed';
  at: Date;
  recorded_at: Date;
}

export interface MeteredThingsTable {
  kind: string | null;
  id: string | null;
  org_id: string | null;
  mode: string | null;
}

export interface MetersTable {
  id: string;
  org_id: string;
  mode: 'live' | 'test';
  shard: number;
  cause_kind: string;
  cause_id: string;
  name: string;
  product: 'rental' | 'volume' | 'inference' | 'instance';
  key_id: string | null;
  rate_nano_usd_per_hour: bigint;
  quantity: bigint;
  unit: string;
  supplier_org_id: string | null;
  supplier_rate_nano_usd_per_hour: bigint | null;
  supplier_posted_nano_usd: Generated<bigint>;
  funding: 'ahead' | 'committed';
  term_ends_at: Date | null;
  refund_ppm: Generated<number>;
  retention_ms: Generated<bigint>;
  state: 'open' | 'paused' | 'closed';
  running_since: Date | null;
  elapsed_before_ms: Generated<bigint>;
  posted_ms: Generated<bigint>;
  posted_nano_usd: Generated<bigint>;
  shortfall_nano_usd: Generated<bigint>;
  rest_of_term_nano_usd: Generated<bigint>;
  hold_id: string | null;
  held_nano_usd: Generated<bigint>;
  covered_until: Date | null;
  next_post_at: Date | null;
  postings: Generated<number>;
  transitions: Generated<number>;
  opened_at: Date;
  closed_at: Date | null;
  kept_nano_usd_per_hour: Generated<bigint>;
}

export interface MockMachinesTable {
  cluster: string;
  org_id: string;
  external_id: string;
  mode: 'live' | 'test';
  machine: ColumnType<Json | null, string | null, string | null>;
  what: string | null;
  change_seq: Generated<bigint>;
  changed_at: Date;
}

export interface NodeCapacityTable {
  node_id: string;
  mode: 'live' | 'test';
  offer: 'virtual-machine' | 'bare-metal' | 'marketplace';
  provider_id: string;
  region: string;
  cluster_id: string;
  fabric_id: string | null;
  gpu_type: 'h100' | 'h200' | 'b200' | 'other' | null;
  connection_type: 'ethernet' | 'infiniband';
  cuda: number | null;
  ready: Generated<boolean>;
  open: Generated<boolean>;
  placeable: Generated<boolean>;
  pool: Generated<bigint>;
  gpus_total: Generated<number>;
  gpus_free: Generated<number>;
  gpus_allocated: Generated<number>;
  largest_numa_free: Generated<number>;
  idle: Generated<boolean>;
  spread: number;
}

export interface NodeFaultsTable {
  node_id: string;
  at: Date;
  rental_id: string;
  kind: 'start' | 'loss';
  reason: string;
}

export interface NodeTransitionsTable {
  node_id: string;
  seq: number;
  from_status: string | null;
  to_status: string;
  reason: string;
  actor: string;
  at: Date;
}

export interface NodesTable {
  id: string;
  cluster_id: string;
  name: string;
  status: 'node_registering' | 'node_ready' | 'node_draining' | 'node_offline' | 'node_quarantined' | 'node_removed';
  status_reason: string | null;
  status_since: Date;
  back_to: 'node_registering' | 'node_ready' | 'node_draining' | null;
  drain_deadline_at: Date | null;
  address: string | null;
  cpu_model: string | null;
  cpu_count: number | null;
  ram_mb: number | null;
  storage_gb: number | null;
  gpu_form_factor: 'sxm5' | 'sxm6' | 'pcie' | null;
  driver_version: string | null;
  cuda_version: string | null;
  hardware_read_at: Date | null;
  hardware_digest: string | null;
  first_seen_at: Date;
  last_seen_at: Date | null;
  unreachable_since: Date | null;
  forgotten_at: Date | null;
  transitions: Generated<number>;
}

export interface NoticeMailsTable {
  notice_id: string;
  user_id: string | null;
  org_id: string;
  mode: 'live' | 'test';
  category: string;
  state: 'waiting' | 'sent' | 'refused' | 'given_up' | 'skipped';
  attempts: Generated<number>;
  next_attempt_at: Date | null;
  claim: string | null;
  claimed_until: Date | null;
  last_error: string | null;
  created_at: Date;
  done_at: Date | null;
  email: string | null;
  recipient: GeneratedAlways<string>;
  in_digest: Generated<boolean>;
}

export interface NoticePreferencesTable {
  org_id: string;
  user_id: string;
  mode: 'live' | 'test';
  category: string;
  wanted: boolean;
  updated_at: Date;
}

export interface NoticesTable {
  id: string;
  org_id: string;
  mode: 'live' | 'test';
  type: string;
  data: ColumnType<Json, string, string>;
  occurred_at: Date;
  recorded_at: Generated<Date>;
  addressed_at: Date | null;
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
  funded_at: Date | null;
  supplier_since: Date | null;
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

export interface PasskeysTable {
  id: string;
  user_id: string;
  name: string | null;
  public_key: string;
  credential_id: string;
  counter: number;
  device_type: string;
  backed_up: boolean;
  transports: string | null;
  aaguid: string | null;
  created_at: Generated<Date | null>;
}

export interface PaymentDisputesTable {
  provider: string;
  dispute_ref: string;
  payment_id: string;
  org_id: string;
  mode: 'live' | 'test';
  amount_nano_usd: bigint;
  standing: 'inquiry' | 'open' | 'won' | 'lost';
  told_at: Date;
  created_at: Date;
}

export interface PaymentEventsTable {
  provider: string;
  event_id: string;
  provider_live: boolean;
  type: string;
  intent_ref: string | null;
  payment_id: string | null;
  outcome: 'applied' | 'unchanged' | 'unmatched' | 'mismatch';
  fact: ColumnType<Json, string, string>;
  occurred_at: Date;
  received_at: Date;
}

export interface PaymentsTable {
  id: string;
  org_id: string;
  mode: 'live' | 'test';
  provider: string;
  provider_live: Generated<boolean>;
  provider_ref: string | null;
  provider_intent: string | null;
  amount_nano_usd: bigint;
  state: 'created' | 'open' | 'processing' | 'paid' | 'expired' | 'failed' | 'mismatch' | 'refunded' | 'disputed' | 'charged_back';
  success_url: string;
  cancel_url: string;
  checkout_url: string | null;
  credited_nano_usd: Generated<bigint>;
  refunded_nano_usd: Generated<bigint>;
  clawed_back_nano_usd: Generated<bigint>;
  shortfall_nano_usd: Generated<bigint>;
  clawback_transfers: Generated<string[]>;
  money_steps: Generated<number>;
  created_at: Date;
  paid_at: Date | null;
  next_check_at: Date | null;
  checks: Generated<number>;
  refund_total_nano_usd: Generated<bigint>;
  refund_told_at: Date | null;
  failed_refunds: ColumnType<Json, string | undefined, string>;
}

export interface PlatformRolesTable {
  user_id: string;
  role: 'operator' | 'supplier';
  created_at: Generated<Date>;
}

export interface PotGatewaysTable {
  gateway_id: string;
  cell: number;
  last_seen_at: Date;
}

export interface PotLeaseBudgetsTable {
  lease_id: string;
  budget_id: string;
  org_id: string;
  mode: 'live' | 'test';
  hold_id: string;
  granted_nano_usd: bigint;
  recalled_nano_usd: Generated<bigint>;
  settled_nano_usd: Generated<bigint>;
  changes: Generated<bigint>;
}

export interface PotLeaseGatewaysTable {
  lease_id: string;
  gateway_id: string;
  org_id: string;
  mode: 'live' | 'test';
  told_at: Date;
  declared_dead_at: Date | null;
  ended_stream: string | null;
  ended_at_seq: bigint | null;
  settled_at: Date | null;
  given_back_at: Date | null;
}

export interface PotLeasesTable {
  id: string;
  org_id: string;
  mode: 'live' | 'test';
  cell: number;
  epoch: bigint;
  generation: bigint;
  hold_id: string;
  granted_nano_usd: bigint;
  recalled_nano_usd: Generated<bigint>;
  settled_nano_usd: Generated<bigint>;
  changes: Generated<bigint>;
  used_nano_usd: Generated<bigint>;
  used_at: Date;
  state: 'open' | 'closing' | 'closed';
  opened_at: Date;
  expires_at: Date;
  closing_at: Date | null;
  closed_at: Date | null;
}

export interface PotServersTable {
  cell: number;
  namespace: Generated<string>;
  generation: bigint;
  incarnation: string;
  initialised_at: Date;
  epoch_floor: Generated<bigint>;
}

export interface PotsTable {
  org_id: string;
  mode: 'live' | 'test';
  cell: number;
  last_epoch: Generated<bigint>;
  calm_until: Date | null;
}

export interface PricesTable {
  id: string;
  org_id: string | null;
  mode: Generated<string>;
  subject_kind: 'gpu' | 'volume' | 'disk' | 'model';
  gpu_type: string | null;
  machine_type: 'virtual-machine' | 'bare-metal' | null;
  region: string | null;
  network_type: 'infiniband' | 'ethernet' | null;
  model: string | null;
  model_unit: 'prompt_token' | 'cached_prompt_token' | 'completion_token' | 'image' | 'character' | null;
  unit: 'gpu_hour' | 'gb_hour' | 'token' | 'million_tokens' | 'image' | 'character';
  price_nano_usd: bigint;
  valid_from: Date;
  valid_until: Date | null;
  created_at: Date;
}

export interface ProviderRegionsTable {
  provider_id: string;
  region: string;
  enabled: Generated<boolean>;
  configured: Generated<boolean>;
  custom_ports: boolean;
  updated_at: Date;
}

export interface ProvidersTable {
  id: string;
  variant: string;
  driver: 'incus' | 'ironic' | 'mock';
  mode: 'live' | 'test';
  enabled: Generated<boolean>;
  configured: Generated<boolean>;
  updated_at: Date;
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

export interface RentalConsolesTable {
  rental_id: string;
  attempt: number;
  position: number;
  org_id: string;
  mode: 'live' | 'test';
  output: Generated<string>;
  dropped: Generated<boolean>;
  read_at: Date | null;
  reading_until: Date | null;
}

export interface RentalIdlenessTable {
  rental_id: string;
  org_id: string;
  mode: 'live' | 'test';
  sampled_at: Date;
  idle_since: Date;
  counters: ColumnType<Json, string, string>;
}

export interface RentalMachinesTable {
  rental_id: string;
  attempt: number;
  position: number;
  org_id: string;
  mode: 'live' | 'test';
  external_id: string;
  allocation_id: string | null;
  cluster_id: string;
  node_id: string;
  gpu_addresses: string[];
  ports: ColumnType<Json, string, string>;
  cpu_count: number;
  ram_mb: number;
  disk_gb: number;
  state: 'wanted' | 'made' | 'proven' | 'open' | 'doomed' | 'gone';
  proof_key: string | null;
  address: string | null;
  private_ip: string | null;
  ssh_user: string | null;
  host_key: string | null;
  starting: Generated<boolean>;
  cut_at: Date | null;
  absent_seen: Generated<number>;
  gone_at: Date | null;
  tries: Generated<number>;
  next_try_at: Date | null;
  doomed_at: Date | null;
  last_error: string | null;
}

export interface RentalSamplesTable {
  slot: number;
  rental_id: string;
  attempt: number;
  position: number;
  org_id: string;
  mode: 'live' | 'test';
  at: Date;
  cpu_seconds: number | null;
  ram_used_bytes: bigint | null;
  disk_used_bytes: bigint | null;
  network_in_bytes: bigint | null;
  network_out_bytes: bigint | null;
  gpu_addresses: string[] | null;
  gpu_percents: number[] | null;
}

export interface RentalStepsTable {
  rental_id: string;
  seq: number;
  org_id: string;
  mode: 'live' | 'test';
  attempt: number;
  name: string;
  status: 'running' | 'done' | 'failed' | 'undone';
  started_at: Date;
  ended_at: Date | null;
  message: string | null;
}

export interface RentalTermsTable {
  rental_id: string;
  seq: number;
  org_id: string;
  mode: 'live' | 'test';
  term_type: 'on-demand' | 'reserved' | 'private-cloud';
  price: ColumnType<Json, string, string>;
  hold_id: string | null;
  meter_name: string;
  effective_at: Date | null;
  ends_at: Date | null;
  created_at: Date;
}

export interface RentalTransitionsTable {
  rental_id: string;
  seq: number;
  org_id: string;
  mode: 'live' | 'test';
  from_status: string | null;
  to_status: string;
  reason: string | null;
  actor: string;
  at: Date;
}

export interface RentalsTable {
  id: string;
  wire_id: number;
  org_id: string;
  mode: 'live' | 'test';
  kind: 'virtual-machine' | 'bare-metal' | 'instance';
  user_id: string;
  key_id: string | null;
  provider_id: string;
  region: string;
  gpu_type: 'h100' | 'h200' | 'b200' | 'other';
  gpus_per_node: number;
  node_count: number;
  gpu_count: GeneratedAlways<number>;
  connection_type: 'ethernet' | 'infiniband';
  cuda: number | null;
  name: string | null;
  label: string | null;
  tags: ColumnType<Json, string, string>;
  image: string | null;
  user_data: string | null;
  ssh_keys: string[];
  custom_ports: Generated<number[]>;
  labels: ColumnType<Json, string, string>;
  monitoring: Generated<boolean>;
  convert_on_expiry: boolean;
  disk_price: ColumnType<Json | null, string | null, string | null>;
  status: string;
  status_reason: string | null;
  status_since: Date;
  task: 'provision' | 'stop' | 'start' | 'reboot' | 'release' | null;
  task_options: ColumnType<Json, string, string>;
  task_deadline_at: Date | null;
  power: 'on' | 'off' | 'changing';
  gpu_held: Generated<boolean>;
  attempt: Generated<number>;
  first_attempt: Generated<number>;
  allocation_id: string | null;
  trouble_since: Date | null;
  billing_paused_at: Date | null;
  created_at: Date;
  updated_at: Date | null;
  started_at: Date | null;
  end_accepted_at: Date | null;
  ended_at: Date | null;
  end_reason: string | null;
  expires_at: Date | null;
  max_nano_usd: bigint | null;
  idle_after_seconds: number | null;
  idle_action: 'stop' | 'terminate' | null;
  told_expiring_at: Date | null;
  next_action_at: Date | null;
  deadline_at: Date | null;
  transitions: Generated<number>;
  steps: Generated<number>;
  version: Generated<number>;
  supplier_org_id: string | null;
  supplier_rate_nano_usd_per_hour: bigint | null;
  told_as: ColumnType<Json | null, string | null, string | null>;
  private_cloud: ColumnType<Json | null, string | null, string | null>;
}

export interface RequiredActionsTable {
  id: GeneratedAlways<bigint>;
  org_id: string;
  mode: 'live' | 'test';
  cause_kind: string;
  cause_id: string;
  action: 'stop' | 'delete';
  reason: 'balance' | 'budget' | 'suspension';
  due_at: Date;
  state: Generated<'pending' | 'claimed' | 'done' | 'cancelled'>;
  claimed_until: Date | null;
  attempts: Generated<number>;
  created_at: Date;
  done_at: Date | null;
}

export interface ReservationRequestsTable {
  id: string;
  org_id: string;
  mode: 'live' | 'test';
  user_id: string;
  gpu_count: bigint;
  created_at: Date;
}

export interface ReserveOptionsTable {
  id: string;
  machine_type: 'virtual-machine' | 'bare-metal';
  gpu_type: string;
  region: string | null;
  term_period_days: number;
  discount_ppm: number;
  refund_ppm: number;
  created_at: Date;
}

export interface RestoreStateTable {
  is_only: Generated<boolean>;
  installation: Generated<string>;
  generation: Generated<bigint>;
  mark: Generated<bigint>;
  marked_at: Generated<Date>;
  state: Generated<'normal' | 'restored' | 'confirming'>;
  found_at: Date | null;
  outside: ColumnType<Json | null, string | null, string | null>;
  report: ColumnType<Json | null, string | null, string | null>;
  reported_at: Date | null;
  confirmed_at: Date | null;
  lost_from: Date | null;
}

export interface SampleShardsTable {
  shard: number;
  sampled_at: Generated<Date>;
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

export interface StorageAddressesTable {
  region: string;
  address: string;
  rental_id: string;
  attempt: number;
  position: number;
}

export interface StorageNodesTable {
  id: string;
  name: string;
  region: string;
  mode: 'live' | 'test';
  kind: 'nfs' | 'mock';
  endpoint: string;
  credential_ref: string | null;
  settings: ColumnType<Json, string, string>;
  vip_first: string;
  vip_last: string;
  capacity_gb: number;
  configured: Generated<boolean>;
  status: 'connecting' | 'connected' | 'silent';
  status_reason: string | null;
  status_since: Date;
  beat_at: Date | null;
  watch_since: Date | null;
  seen_at: Date | null;
  next_look_at: Date;
  created_at: Date;
}

export interface StrayMachinesTable {
  cluster_id: string;
  org_id: string;
  external_id: string;
  mode: 'live' | 'test';
  node_name: string;
  first_seen_at: Date;
  reap_begun_at: Date | null;
  last_error: string | null;
}

export interface SupplierJoinTokensTable {
  id: string;
  supplier_id: string;
  org_id: string;
  description: string;
  cluster_name: string;
  region: string;
  max_machines: number;
  used_machines: Generated<number>;
  secret_hash: Buffer;
  expires_at: Date;
  revoked_at: Date | null;
  created_by: string;
  created_at: Date;
}

export interface SupplierMachineDaysTable {
  machine_id: string;
  day: string;
  watched_ms: bigint;
  up_ms: bigint;
  starts: number;
  failed_starts: number;
  losses: number;
}

export interface SupplierMachineTrustTable {
  machine_id: string;
  measured_until: Date;
  score_ppm: number;
  uptime_ppm: number;
  starting_ppm: number;
  quarantines: Generated<number>;
}

export interface SupplierMachinesTable {
  id: string;
  supplier_id: string;
  org_id: string;
  join_token_id: string;
  cluster_id: string | null;
  node_id: string | null;
  name: string;
  cluster_name: string;
  region: string;
  endpoint: string;
  server_certificate: string;
  server_fingerprint: string;
  trust_token: string | null;
  stage: 'trusting' | 'inspecting' | 'testing' | 'enrolled' | 'refused' | 'withdrawn';
  problem: string | null;
  tries: Generated<number>;
  next_try_at: Date | null;
  deadline_at: Date | null;
  tests: ColumnType<Json | null, string | null, string | null>;
  tested_at: Date | null;
  approval: Generated<'pending' | 'approved' | 'rejected'>;
  approval_reason: string | null;
  listed: Generated<boolean>;
  drained_at: Date | null;
  price_nano_usd_per_gpu_hour: bigint | null;
  recent_price_nano_usd_per_gpu_hour: bigint | null;
  recent_price_until: Date | null;
  joined_at: Date;
  enrolled_at: Date | null;
  withdrawn_at: Date | null;
  version: Generated<number>;
}

export interface SupplierPayoutsTable {
  id: string;
  supplier_id: string;
  org_id: string;
  amount_nano_usd: bigint;
  status: 'requested' | 'paid' | 'rejected';
  reference: string | null;
  reason: string | null;
  hold_id: string;
  transfer_id: string | null;
  requested_by: string;
  requested_at: Date;
  settled_at: Date | null;
}

export interface SupplierStatementsTable {
  id: string;
  supplier_id: string;
  org_id: string;
  period_start: Date;
  period_end: Date;
  gross_nano_usd: bigint;
  fee_nano_usd: bigint;
  net_nano_usd: bigint;
  lines: ColumnType<Json, string, string>;
  created_at: Date;
}

export interface SuppliersTable {
  id: string;
  org_id: string;
  name: string;
  about: string;
  status: 'applied' | 'approved' | 'rejected' | 'suspended';
  status_reason: string | null;
  fee_ppm: Generated<number>;
  applied_at: Date;
  approved_at: Date | null;
  updated_at: Date;
}

export interface TwoFactorsTable {
  id: string;
  user_id: string;
  secret: string;
  backup_codes: string;
  verified: Generated<boolean>;
  failed_verification_count: Generated<number>;
  locked_until: Date | null;
}

export interface UsageArchiveGuardTable {
  only_row: Generated<boolean>;
  old_charges: Generated<bigint>;
}

export interface UsageArchivesTable {
  through: string;
  cutoff: string;
  requests: bigint;
  begun_at: Generated<Date>;
  deleted_partitions: Generated<number>;
  deleted_at: Date | null;
}

export interface UsageChargesTable {
  request_id: string;
  org_id: string;
  mode: 'live' | 'test';
  key_id: string | null;
  lease_id: string | null;
  gateway_id: string;
  product: string;
  amount_nano_usd: bigint;
  borne_nano_usd: Generated<bigint>;
  transfer_id: string | null;
  outcome: 'charged' | 'late' | 'unknown_lease' | 'overpriced';
  recorded_at: Date;
}

export interface UsageDeferredTable {
  stream: string;
  seq: bigint;
  position: number;
  org_id: string;
  lease_id: string | null;
  lane: GeneratedAlways<string>;
  kind: 'usage' | 'end';
  payload: ColumnType<Json, string, string>;
  attempts: Generated<number>;
  recorded_at: Date;
}

export interface UsageMonthsTable {
  month: string;
  org_id: string;
  mode: 'live' | 'test';
  key_id: string;
  model: string;
  outcome: string;
  requests: bigint;
  tokens_prompt: string;
  tokens_cached: string;
  tokens_completion: string;
  image_pixel_steps: string;
  characters: string;
  priced_nano_usd: string;
  cost_nano_usd: string;
}

export interface UsageSinksTable {
  stream: string;
  holder: string;
  held_until: Date;
}

export interface UsageUnreadableTable {
  stream: string;
  seq: bigint;
  position: number;
  problem: string;
  payload: string;
  recorded_at: Date;
}

export interface UsageWatermarksTable {
  stream: string;
  passed_seq: bigint;
}

export interface UsersTable {
  id: string;
  name: string;
  email: string;
  email_verified: Generated<boolean>;
  image: string | null;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
  two_factor_enabled: Generated<boolean>;
}

export interface VerificationsTable {
  id: string;
  identifier: string;
  value: string;
  expires_at: Date;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

export interface VolumeAttachmentsTable {
  id: GeneratedAlways<bigint>;
  volume_id: string;
  rental_id: string;
  org_id: string;
  mode: 'live' | 'test';
  attached_at: Date;
  detached_at: Date | null;
}

export interface VolumeSnapshotsTable {
  id: string;
  volume_id: string;
  org_id: string;
  mode: 'live' | 'test';
  label: string;
  size_gb: number;
  price: ColumnType<Json, string, string>;
  hold_id: string | null;
  status: 'creating' | 'ready' | 'failed' | 'deleting' | 'deleted';
  created_at: Date;
  make_by: Date;
  ready_at: Date | null;
  ended_at: Date | null;
  tries: Generated<number>;
  last_error: string | null;
  volume_gb: number;
}

export interface VolumeTransitionsTable {
  volume_id: string;
  seq: number;
  org_id: string;
  mode: 'live' | 'test';
  from_status: string | null;
  to_status: string | null;
  reason: string | null;
  actor: string;
  at: Date;
}

export interface VolumesTable {
  id: string;
  wire_id: number;
  org_id: string;
  mode: 'live' | 'test';
  user_id: string;
  key_id: string | null;
  node_id: string;
  region: string;
  vip: string;
  label: string;
  name: string | null;
  tags: ColumnType<Json, string, string>;
  size_gb: number;
  price: ColumnType<Json, string, string>;
  hold_id: string | null;
  grow_to_gb: number | null;
  grow_price: ColumnType<Json | null, string | null, string | null>;
  grow_hold_id: string | null;
  grow_by: Date | null;
  max_nano_usd: bigint | null;
  phase: 'provisioning' | 'live' | 'frozen' | 'leaving' | 'purging' | 'purged';
  status: 'inactive' | 'active' | 'unknown';
  status_reason: string | null;
  status_since: Date;
  end_reason: string | null;
  created_at: Date;
  updated_at: Date | null;
  started_at: Date | null;
  end_accepted_at: Date | null;
  purge_at: Date | null;
  deleted_at: Date | null;
  wish_seq: Generated<number>;
  served_seq: Generated<number>;
  served_clients: Generated<string[]>;
  trouble_since: Date | null;
  tries: Generated<number>;
  last_error: string | null;
  next_action_at: Date | null;
  transitions: Generated<number>;
  version: Generated<number>;
  restore_id: string | null;
  restore_snapshot_id: string | null;
  restore_volume_id: string | null;
  restore_by: Date | null;
}

export interface WalletLaddersTable {
  org_id: string;
  mode: 'live' | 'test';
  shard: number;
  step: 'fine' | 'day' | 'hour' | 'quarter' | 'empty';
  since: Date;
}

export interface WebhookDeliveriesTable {
  webhook_id: string;
  seq: bigint;
  id: string;
  org_id: string;
  mode: 'live' | 'test';
  event_id: string;
  event_type: string;
  resource_kind: string;
  resource_id: string;
  status: Generated<'pending' | 'succeeded' | 'failed' | 'abandoned'>;
  failures: Generated<number>;
  attempts: ColumnType<Json, string | undefined, string>;
  next_attempt_at: Date | null;
  created_at: Generated<Date>;
}

export interface WebhookQueuesTable {
  webhook_id: string;
  org_id: string;
  mode: 'live' | 'test';
  next_due_at: Date | null;
  wakes: Generated<bigint>;
  failing: Generated<boolean>;
  holder: string | null;
  fence: Generated<bigint>;
  lease_until: Date | null;
}

export interface WebhooksTable {
  id: string;
  org_id: string;
  mode: 'live' | 'test';
  url: string;
  description: string;
  event_types: string[];
  status: 'enabled' | 'disabled';
  disabled_by: 'person' | 'failures' | null;
  disabled_reason: string | null;
  disabled_at: Date | null;
  secret_sealed: string;
  previous_secret_sealed: string | null;
  previous_secret_until: Date | null;
  created_by: string;
  created_at: Date;
  updated_at: Date;
  last_succeeded_at: Date | null;
  failing_since: Date | null;
  last_error: string | null;
  deleted_at: Date | null;
}

export interface WrittenOffClawbacksTable {
  transfer_id: string;
}

export interface WrittenOffMachinesTable {
  org_id: string;
  cluster_id: string;
  external_id: string;
  mode: 'live' | 'test';
  node_id: string;
  written_off_at: Date;
  absent_at: Date | null;
}

export interface GeneratedTables {
  accounts: AccountsTable;
  all_ledger_entries: AllLedgerEntriesTable;
  all_ledger_transfers: AllLedgerTransfersTable;
  allocated_gpus: AllocatedGpusTable;
  allocated_ports: AllocatedPortsTable;
  allocations: AllocationsTable;
  api_keys: ApiKeysTable;
  archived_ledger_entries: ArchivedLedgerEntriesTable;
  archived_ledger_transfers: ArchivedLedgerTransfersTable;
  audit_log: AuditLogTable;
  audit_marks: AuditMarksTable;
  audit_runs: AuditRunsTable;
  book_changes: BookChangesTable;
  budgets: BudgetsTable;
  cluster_comparisons: ClusterComparisonsTable;
  cluster_observers: ClusterObserversTable;
  clusters: ClustersTable;
  demo_mark: DemoMarkTable;
  device_codes: DeviceCodesTable;
  entitlements: EntitlementsTable;
  event_heads: EventHeadsTable;
  events: EventsTable;
  fabrics: FabricsTable;
  gpus: GpusTable;
  id_blocks: IdBlocksTable;
  idempotency_keys: IdempotencyKeysTable;
  inference_checkpoints: InferenceCheckpointsTable;
  inference_deployments: InferenceDeploymentsTable;
  inference_model_names: InferenceModelNamesTable;
  inference_models: InferenceModelsTable;
  inference_requests: InferenceRequestsTable;
  instances: InstancesTable;
  invitations: InvitationsTable;
  invoice_counter: InvoiceCounterTable;
  invoice_gaps: InvoiceGapsTable;
  invoice_months: InvoiceMonthsTable;
  invoices: InvoicesTable;
  ledger_accounts: LedgerAccountsTable;
  ledger_archived_keys: LedgerArchivedKeysTable;
  ledger_archived_totals: LedgerArchivedTotalsTable;
  ledger_archives: LedgerArchivesTable;
  ledger_entries: LedgerEntriesTable;
  ledger_hold_parts: LedgerHoldPartsTable;
  ledger_holds: LedgerHoldsTable;
  ledger_opening_balances: LedgerOpeningBalancesTable;
  ledger_transfers: LedgerTransfersTable;
  listing_changes: ListingChangesTable;
  loop_items: LoopItemsTable;
  mail_refusals: MailRefusalsTable;
  maintenance_nodes: MaintenanceNodesTable;
  maintenance_notices: MaintenanceNoticesTable;
  maintenance_windows: MaintenanceWindowsTable;
  members: MembersTable;
  meter_shards: MeterShardsTable;
  meter_transitions: MeterTransitionsTable;
  metered_things: MeteredThingsTable;
  meters: MetersTable;
  mock_machines: MockMachinesTable;
  node_capacity: NodeCapacityTable;
  node_faults: NodeFaultsTable;
  node_transitions: NodeTransitionsTable;
  nodes: NodesTable;
  notice_mails: NoticeMailsTable;
  notice_preferences: NoticePreferencesTable;
  notices: NoticesTable;
  organisations: OrganisationsTable;
  outbox: OutboxTable;
  passkeys: PasskeysTable;
  payment_disputes: PaymentDisputesTable;
  payment_events: PaymentEventsTable;
  payments: PaymentsTable;
  platform_roles: PlatformRolesTable;
  pot_gateways: PotGatewaysTable;
  pot_lease_budgets: PotLeaseBudgetsTable;
  pot_lease_gateways: PotLeaseGatewaysTable;
  pot_leases: PotLeasesTable;
  pot_servers: PotServersTable;
  pots: PotsTable;
  prices: PricesTable;
  provider_regions: ProviderRegionsTable;
  providers: ProvidersTable;
  relay_leases: RelayLeasesTable;
  relays: RelaysTable;
  rental_consoles: RentalConsolesTable;
  rental_idleness: RentalIdlenessTable;
  rental_machines: RentalMachinesTable;
  rental_samples: RentalSamplesTable;
  rental_steps: RentalStepsTable;
  rental_terms: RentalTermsTable;
  rental_transitions: RentalTransitionsTable;
  rentals: RentalsTable;
  required_actions: RequiredActionsTable;
  reservation_requests: ReservationRequestsTable;
  reserve_options: ReserveOptionsTable;
  restore_state: RestoreStateTable;
  sample_shards: SampleShardsTable;
  schema_migrations: SchemaMigrationsTable;
  sessions: SessionsTable;
  ssh_public_keys: SshPublicKeysTable;
  storage_addresses: StorageAddressesTable;
  storage_nodes: StorageNodesTable;
  stray_machines: StrayMachinesTable;
  supplier_join_tokens: SupplierJoinTokensTable;
  supplier_machine_days: SupplierMachineDaysTable;
  supplier_machine_trust: SupplierMachineTrustTable;
  supplier_machines: SupplierMachinesTable;
  supplier_payouts: SupplierPayoutsTable;
  supplier_statements: SupplierStatementsTable;
  suppliers: SuppliersTable;
  two_factors: TwoFactorsTable;
  usage_archive_guard: UsageArchiveGuardTable;
  usage_archives: UsageArchivesTable;
  usage_charges: UsageChargesTable;
  usage_deferred: UsageDeferredTable;
  usage_months: UsageMonthsTable;
  usage_sinks: UsageSinksTable;
  usage_unreadable: UsageUnreadableTable;
  usage_watermarks: UsageWatermarksTable;
  users: UsersTable;
  verifications: VerificationsTable;
  volume_attachments: VolumeAttachmentsTable;
  volume_snapshots: VolumeSnapshotsTable;
  volume_transitions: VolumeTransitionsTable;
  volumes: VolumesTable;
  wallet_ladders: WalletLaddersTable;
  webhook_deliveries: WebhookDeliveriesTable;
  webhook_queues: WebhookQueuesTable;
  webhooks: WebhooksTable;
  written_off_clawbacks: WrittenOffClawbacksTable;
  written_off_machines: WrittenOffMachinesTable;
}
