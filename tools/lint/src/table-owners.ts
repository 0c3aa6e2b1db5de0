/** Owner of each table of db/schema.sql. Other features call a function of the owner or compose a SQL fragment of its index. */
const tables = {
  'packages/compute/src/mock': 'mock_machines',
  'packages/core/src/auditor': 'audit_marks audit_runs',
  'packages/core/src/credit-leases': `
    pot_gateways pot_lease_budgets pot_lease_gateways pot_leases pot_servers pots usage_charges
    usage_deferred usage_watermarks`,
  'packages/core/src/demo': 'demo_mark',
  'packages/core/src/events': 'event_heads events relay_leases relays',
  'packages/core/src/fleet': `
    allocated_gpus allocated_ports allocations cluster_observers clusters fabrics gpus maintenance_nodes
    maintenance_notices maintenance_windows node_capacity node_faults node_transitions nodes
    provider_regions providers written_off_machines`,
  'packages/core/src/identity': `
    accounts api_keys audit_log device_codes members organisations passkeys platform_roles sessions
    ssh_public_keys two_factors users verifications`,
  'packages/core/src/inference': `
    book_changes inference_checkpoints inference_deployments inference_model_names inference_models
    inference_requests usage_sinks usage_unreadable`,
  'packages/core/src/invoices': 'invoice_counter invoice_gaps invoice_months invoices',
  'packages/core/src/ledger': `
    all_ledger_entries all_ledger_transfers archived_ledger_entries archived_ledger_transfers budgets ledger_accounts ledger_archived_keys ledger_entries
    ledger_hold_parts ledger_holds ledger_transfers written_off_clawbacks`,
  'packages/core/src/marketplace': 'instances listing_changes',
  'packages/core/src/metering': `
    meter_shards meter_transitions metered_things meters required_actions wallet_ladders`,
  'packages/core/src/notices': 'mail_refusals notice_mails notice_preferences notices',
  'packages/core/src/payments': 'payment_disputes payment_events payments',
  'packages/core/src/people': 'invitations',
  'packages/core/src/prices': 'entitlements prices reserve_options',
  'packages/core/src/rentals': `
    cluster_comparisons rental_consoles rental_idleness rental_machines rental_samples rental_steps
    rental_terms rental_transitions rentals reservation_requests sample_shards stray_machines`,
  'packages/core/src/restore': 'restore_state',
  'packages/core/src/retention': `
    ledger_archived_totals ledger_archives ledger_opening_balances usage_archive_guard usage_archives usage_months`,
  'packages/core/src/suppliers': `
    supplier_join_tokens supplier_machine_days supplier_machine_trust supplier_machines supplier_payouts
    supplier_statements suppliers`,
  'packages/core/src/volumes': `
    storage_addresses storage_nodes volume_attachments volume_snapshots volume_transitions volumes`,
  'packages/core/src/webhooks': 'webhook_deliveries webhook_queues webhooks',
  'packages/platform/src/db': 'schema_migrations',
  'packages/platform/src/http': 'idempotency_keys',
  'packages/platform/src/loops': 'loop_items',
  'packages/platform/src/outbox': 'outbox',
  'packages/platform/src/wire-ids': 'id_blocks',
};

export const ownedTables: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries(tables).map(([folder, names]) => [folder, names.trim().split(/\s+/)]),
);

/** A folder that may use tables of another feature, and why a function of the owner does not suffice. */
export interface TableGrant {
  readonly folder: string;
  readonly tables: 'all' | readonly string[];
  readonly access: 'read' | 'write';
  readonly reason: string;
}

export const tableGrants: readonly TableGrant[] = [
  {
    folder: 'packages/core/src/demo',
    tables: ['organisations', 'schema_migrations'],
    access: 'write',
    reason:
      'It locks organisations, so that it fills a new database only, and only with rows for the same migrations.',
  },
  {
    folder: 'packages/core/src/auditor',
    tables: 'all',
    access: 'read',
    reason: 'It recomputes the accounts with its own SQL, so that it also detects errors of a feature.',
  },
  {
    folder: 'packages/core/src/rental-lookup',
    tables: ['instances', 'rental_machines', 'rental_terms', 'rentals'],
    access: 'read',
    reason:
      'Volumes and suppliers read rentals, but rentals and marketplace import them. This folder imports no feature.',
  },
  {
    folder: 'packages/platform/src/auth',
    tables: ['invitations'],
    access: 'read',
    reason: 'Sign-up is open to invited people, and the platform must not import people.',
  },
  {
    folder: 'packages/platform/src/auth',
    tables: ['accounts', 'device_codes', 'passkeys', 'sessions', 'two_factors', 'users', 'verifications'],
    access: 'write',
    reason: 'The sign-in library writes these tables itself, and the platform must not import identity.',
  },
  {
    folder: 'packages/core/src/events',
    tables: ['outbox'],
    access: 'write',
    reason: 'Every feature appends to the outbox through the platform; the relay in events empties it.',
  },
  {
    folder: 'apps/admin',
    tables: ['events', 'invoices', 'ledger_transfers', 'payments', 'rentals', 'usage_charges', 'webhooks'],
    access: 'read',
    reason:
      'It counts what a restore would remove, and tries the keys of sealed secrets, as the owner of the database.',
  },
];

const folderOfTable: ReadonlyMap<string, string> = new Map(
  Object.entries(ownedTables).flatMap(([folder, tables]) => tables.map((table) => [table, folder] as const)),
);

/** The folder that owns the table; undefined if the name is not a table. */
export function ownerOf(table: string): string | undefined {
  return folderOfTable.get(table);
}

export function mayUse(folder: string, table: string, access: 'read' | 'write'): boolean {
  const owner = ownerOf(table);
  if (owner === undefined || owner === folder) return true;
  return tableGrants.some(
    (grant) =>
      grant.folder === folder &&
      (grant.tables === 'all' || grant.tables.includes(table)) &&
      (grant.access === 'write' || access === 'read'),
  );
}
