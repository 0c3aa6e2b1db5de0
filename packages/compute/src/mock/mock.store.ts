import type { Clock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { toUuid } from '@millrace/platform/ids';
import { sql } from 'kysely';
import type { MachineRef } from '../driver.ts';
import { Listeners, type MachineChange, type StoredMachine, type MachineStore } from './machine-store.ts';
import type { MockMachine } from './mock-machine.ts';

/** The row of a deleted machine stays this long, so that event readers see the deletion. */
const deletedRetentionMs = 60 * 60 * 1_000;
const maxChanges = 1_000;
const pruneBatch = 100;

interface Row {
  readonly machine: MockMachine;
  readonly change_seq: bigint;
}

/** Stores the machines of one cluster in PostgreSQL, shared by all processes of an installation. */
export function createPostgresStore(
  db: Db,
  options: { readonly cluster: string; readonly clock: Clock },
): MachineStore {
  const { cluster, clock } = options;
  const listeners = new Listeners();
  return {
    read: (machine) => readMachine(db, cluster, machine),
    async list() {
      const { rows } = await sql<Row>`
        select machine || '{"sshKeys": [], "userData": null}' as machine, change_seq
          from mock_machines where cluster = ${cluster} and machine is not null
      `.execute(db.kysely);
      return rows.map(fromRow);
    },
    async write(machine, version, next, what) {
      const change = { cluster, version, next, what, at: clock.now() };
      const written =
        version === null ? await insert(db, machine, change) : await update(db, machine, change);
      if (written === null) return null;
      if (next === null) await prune(db, new Date(clock.nowMs() - deletedRetentionMs));
      await listeners.notify(machine);
      return written;
    },
    changesSince: (cursor) => readChanges(db, cluster, cursor),
    onChange: (listener) => listeners.add(listener),
  };
}

interface MachineWrite {
  readonly cluster: string;
  readonly version: bigint | null;
  readonly next: MockMachine | null;
  readonly what: string | null;
  readonly at: Date;
}

async function readMachine(db: Db, cluster: string, ref: MachineRef): Promise<StoredMachine | null> {
  const { rows } = await sql<Row>`
    select machine, change_seq from mock_machines
     where cluster = ${cluster} and org_id = ${toUuid(ref.orgId)} and external_id = ${ref.externalId}
       and machine is not null
  `.execute(db.kysely);
  return rows[0] === undefined ? null : fromRow(rows[0]);
}

/** Reuses the row of a deleted machine. */
async function insert(db: Db, { orgId, externalId }: MachineRef, to: MachineWrite): Promise<bigint | null> {
  const { cluster, next, what, at } = to;
  if (next === null) throw new Error('A machine that does not exist cannot be deleted.');
  const { rows } = await sql<{ change_seq: bigint }>`
    insert into mock_machines as kept (cluster, org_id, external_id, mode, machine, what, changed_at)
    values (${cluster}, ${toUuid(orgId)}, ${externalId}, ${next.mode}, ${JSON.stringify(next)}::jsonb, ${what}, ${at})
    on conflict (cluster, org_id, external_id) do update
       set machine = excluded.machine, what = excluded.what, change_seq = excluded.change_seq,
           changed_at = excluded.changed_at
     where kept.machine is null and kept.mode = excluded.mode
    returning change_seq
  `.execute(db.kysely);
  return rows[0]?.change_seq ?? null;
}

async function update(db: Db, { orgId, externalId }: MachineRef, to: MachineWrite): Promise<bigint | null> {
  const { cluster, version, next, what, at } = to;
  const { rows } = await sql<{ change_seq: bigint }>`
    update mock_machines
       set machine = ${next === null ? null : JSON.stringify(next)}::jsonb, what = ${what},
           change_seq = nextval('mock_machine_changes'), changed_at = ${at}
     where cluster = ${cluster} and org_id = ${toUuid(orgId)} and external_id = ${externalId}
       and change_seq = ${version} and machine is not null
    returning change_seq
  `.execute(db.kysely);
  return rows[0]?.change_seq ?? null;
}

/** Limited and skips locked rows, because it runs during a call. */
async function prune(db: Db, before: Date): Promise<void> {
  await sql`
    delete from mock_machines where ctid in (
      select ctid from mock_machines where machine is null and changed_at < ${before}
       limit ${pruneBatch} for update skip locked)
  `.execute(db.kysely);
}

async function readChanges(
  db: Db,
  cluster: string,
  cursor: bigint | null,
): Promise<{ cursor: bigint; changes: readonly MachineChange[] }> {
  if (cursor === null) {
    const { rows } = await sql<{ newest: bigint | null }>`
      select max(change_seq) as newest from mock_machines where cluster = ${cluster}
    `.execute(db.kysely);
    return { cursor: rows[0]?.newest ?? 0n, changes: [] };
  }
  const { rows } = await sql<{ external_id: string; what: string | null; change_seq: bigint }>`
    select external_id, what, change_seq from mock_machines
     where cluster = ${cluster} and change_seq > ${cursor} order by change_seq limit ${maxChanges}
  `.execute(db.kysely);
  const changes = rows.flatMap(({ external_id: externalId, what }) =>
    what === null ? [] : [{ externalId, what }],
  );
  return { cursor: rows.at(-1)?.change_seq ?? cursor, changes };
}

function fromRow(row: Row): StoredMachine {
  // Records of older versions lack these fields.
  return {
    machine: {
      ...row.machine,
      userDataRuns: row.machine.userDataRuns ?? [],
      sealedHostKey: row.machine.sealedHostKey ?? null,
    },
    version: row.change_seq,
  };
}
