import { fromUuid } from '@millrace/platform/ids';
import { defineStatement, runStatement, type Reader } from '@millrace/platform/db';
import type { SealContext } from '@millrace/platform/secrets';

/** State of the server that decides whether it can be restored, or whether a restore is complete. */
export interface ServerFacts {
  readonly now: Date;
  readonly isInRecovery: boolean;
  readonly timeline: number;
  readonly startedAt: Date;
  readonly archiveMode: string;
  readonly archiveTimeoutSeconds: number;
  readonly lastArchivedAt: Date | null;
  readonly lastArchivedWal: string | null;
  readonly lastFailedAt: Date | null;
  readonly lastFailedWal: string | null;
}

const factsStatement = defineStatement(
  'restore check facts',
  `select clock_timestamp() as now,
          pg_is_in_recovery() as "isInRecovery",
          (select timeline_id from pg_control_checkpoint()) as timeline,
          pg_postmaster_start_time() as "startedAt",
          current_setting('archive_mode') as "archiveMode",
          (select setting::int from pg_settings where name = 'archive_timeout') as "archiveTimeoutSeconds",
          last_archived_time as "lastArchivedAt", last_archived_wal as "lastArchivedWal",
          last_failed_time as "lastFailedAt", last_failed_wal as "lastFailedWal"
     from pg_stat_archiver`,
);

export async function readServerFacts(reader: Reader): Promise<ServerFacts> {
  const [facts] = await runStatement<ServerFacts>(reader, factsStatement, []);
  if (facts === undefined) throw new Error('PostgreSQL returned no row.');
  return facts;
}

/** Rows that a restore to a time would remove. */
export interface LaterRows {
  readonly transfers: number;
  readonly charges: number;
  readonly chargesNanoUsd: string;
  readonly rentals: number;
  readonly payments: number;
  readonly invoices: number;
  readonly events: number;
}

const laterStatement = defineStatement(
  'restore check later rows',
  `select (select count(*)::int from ledger_transfers where occurred_at > $1::timestamptz) as transfers,
          charges.count::int as charges, charges.sum::text as "chargesNanoUsd",
          (select count(*)::int from rentals where created_at > $1::timestamptz) as rentals,
          (select count(*)::int from payments where created_at > $1::timestamptz) as payments,
          (select count(*)::int from invoices where finalized_at > $1::timestamptz) as invoices,
          (select count(*)::int from events where recorded_at > $1::timestamptz) as events
     from (select count(*), coalesce(sum(amount_nano_usd), 0) as sum from usage_charges
            where recorded_at > $1::timestamptz and outcome = 'charged') as charges`,
);

export async function countLaterRows(reader: Reader, at: Date): Promise<LaterRows> {
  const [rows] = await runStatement<LaterRows>(reader, laterStatement, [at]);
  if (rows === undefined) throw new Error('PostgreSQL returned no row.');
  return rows;
}

/** A sealed secret, to try a key with. */
export interface SealedSecret {
  readonly keyId: string;
  readonly sealed: string;
  readonly context: SealContext;
}

const sealedStatement = defineStatement(
  'restore check sealed secrets',
  `select distinct on (split_part(secret_sealed, '.', 2)) split_part(secret_sealed, '.', 2) as "keyId",
          secret_sealed as sealed, id::text as id
     from webhooks`,
);

/** One secret of a webhook for each sealing key that is in use. */
export async function listSealedSecrets(reader: Reader): Promise<readonly SealedSecret[]> {
  const rows = await runStatement<{ keyId: string; sealed: string; id: string }>(reader, sealedStatement, []);
  return rows.map(({ keyId, sealed, id }) => {
    const context = { table: 'webhooks', column: 'secret_sealed', rowId: fromUuid('whk', id) };
    return { keyId, sealed, context };
  });
}
