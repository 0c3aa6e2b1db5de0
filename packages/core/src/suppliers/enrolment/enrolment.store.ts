import type { Reader, Tables, Tx } from '@millrace/platform/db';
import {
  fromUuid,
  toUuid,
  type ClusterId,
  type EnrolmentId,
  type JoinTokenId,
  type NodeId,
  type OrgId,
} from '@millrace/platform/ids';
import { sql, type Selectable } from 'kysely';
import {
  stageTimeoutMs,
  type CheckedDaemon,
  type Enrolment,
  type ActiveStage,
  type SelfTest,
} from './enrolment.ts';
import type { JoinToken } from '../account/join-tokens.ts';
import type { SupplierPageRequest } from '../account/suppliers.store.ts';

/** SQL of enrolments. Each change of a stage checks the version that was read. */

function toEnrolment(row: Selectable<Tables['supplier_machines']>): Enrolment {
  return {
    id: fromUuid('enr', row.id),
    supplierId: fromUuid('sup', row.supplier_id),
    orgId: fromUuid('org', row.org_id),
    joinTokenId: fromUuid('jtk', row.join_token_id),
    clusterId: row.cluster_id === null ? null : fromUuid('cls', row.cluster_id),
    nodeId: row.node_id === null ? null : fromUuid('nod', row.node_id),
    name: row.name,
    clusterName: row.cluster_name,
    region: row.region,
    endpoint: row.endpoint,
    serverCertificate: row.server_certificate,
    serverFingerprint: row.server_fingerprint,
    trustToken: row.trust_token,
    stage: row.stage,
    problem: row.problem,
    tries: row.tries,
    deadlineAt: row.deadline_at,
    tests: row.tests as SelfTest | null,
    joinedAt: row.joined_at,
    enrolledAt: row.enrolled_at,
    version: row.version,
  };
}

/** Serialises requests for the same daemon. */
export function lockDaemon(tx: Tx, daemon: Pick<Enrolment, 'serverFingerprint'>): Promise<void> {
  return lockText(tx, `enrolment ${daemon.serverFingerprint}`);
}

async function lockText(tx: Tx, text: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${text}, 0))`.execute(tx.kysely);
}

/** The enrolment past trusting that holds this daemon, else one with the same join token. Anybody can name a daemon. */
export async function findEnrolmentOfDaemon(
  tx: Tx,
  daemon: Pick<Enrolment, 'endpoint' | 'serverFingerprint'>,
  joinTokenSha256: Buffer | null,
): Promise<Enrolment | null> {
  // Two queries, because each uses its own indexes.
  const isIt = sql<boolean>`(server_fingerprint = ${daemon.serverFingerprint} or endpoint = ${daemon.endpoint})`;
  const { rows } = await sql<Selectable<Tables['supplier_machines']>>`
    (select * from supplier_machines where ${isIt} and stage in ('inspecting', 'testing', 'enrolled') limit 1)
    union all
    (select * from supplier_machines
      where ${isIt} and stage = 'trusting'
        and join_token_id = (select id from supplier_join_tokens where secret_hash = ${joinTokenSha256})
      order by id limit 1)
  `.execute(tx.kysely);
  return rows[0] === undefined ? null : toEnrolment(rows[0]);
}

/** Counts a supplier's machines, and those joining, under a lock until the transaction ends. */
export async function countMachines(tx: Tx, orgId: OrgId) {
  await lockText(tx, `machines ${orgId}`);
  const { rows } = await sql<{ all_of_them: bigint; joining: bigint }>`
    select count(*) as all_of_them, count(*) filter (where next_try_at is not null) as joining
      from supplier_machines
     where org_id = ${toUuid(orgId)} and stage not in ('refused', 'withdrawn')
  `.execute(tx.kysely);
  return { all: Number(rows[0]?.all_of_them ?? 0n), joining: Number(rows[0]?.joining ?? 0n) };
}

export interface NewEnrolment extends CheckedDaemon {
  readonly id: EnrolmentId;
  readonly name: string;
  readonly sealedToken: string;
}

/** Null when another enrolment holds the daemon. */
export async function insertEnrolment(
  tx: Tx,
  token: JoinToken,
  fields: NewEnrolment,
): Promise<Enrolment | null> {
  const now = tx.clock.now();
  const row = await tx.kysely
    .insertInto('supplier_machines')
    .values({
      id: toUuid(fields.id),
      supplier_id: toUuid(token.supplierId),
      org_id: toUuid(token.orgId),
      join_token_id: toUuid(token.id),
      name: fields.name,
      cluster_name: token.clusterName,
      region: token.region,
      endpoint: fields.endpoint,
      server_certificate: fields.serverCertificate,
      server_fingerprint: fields.serverFingerprint,
      trust_token: fields.sealedToken,
      stage: 'trusting',
      next_try_at: now,
      deadline_at: new Date(now.getTime() + stageTimeoutMs.trusting),
      joined_at: now,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
  return row === undefined ? null : toEnrolment(row);
}

/** Replaces the data of a daemon that is not trusted yet and restarts its deadline. */
export async function restartTrusting(
  tx: Tx,
  enrolment: Enrolment,
  fields: CheckedDaemon & Pick<NewEnrolment, 'sealedToken'>,
): Promise<void> {
  const now = tx.clock.now();
  await tx.kysely
    .updateTable('supplier_machines')
    .set((current) => ({
      endpoint: fields.endpoint,
      server_certificate: fields.serverCertificate,
      server_fingerprint: fields.serverFingerprint,
      trust_token: fields.sealedToken,
      tries: 0,
      next_try_at: now,
      deadline_at: new Date(now.getTime() + stageTimeoutMs.trusting),
      // A worker with the old version must not record its outcome.
      version: current('version', '+', 1),
    }))
    .where('org_id', '=', toUuid(enrolment.orgId))
    .where('id', '=', toUuid(enrolment.id))
    .where('stage', '=', 'trusting')
    .execute();
}

export async function findEnrolment(db: Reader, orgId: OrgId, id: EnrolmentId): Promise<Enrolment | null> {
  const row = await db.kysely
    .selectFrom('supplier_machines')
    .selectAll()
    .where('org_id', '=', toUuid(orgId))
    .where('id', '=', toUuid(id))
    .executeTakeFirst();
  return row === undefined ? null : toEnrolment(row);
}

/** Newest first; returns one more than the limit if there are more. */
export async function listEnrolments(
  reader: Reader,
  orgId: OrgId,
  page: SupplierPageRequest<EnrolmentId>,
): Promise<readonly Enrolment[]> {
  let query = reader.kysely.selectFrom('supplier_machines').selectAll().where('org_id', '=', toUuid(orgId));
  if (page.after !== null) query = query.where('id', '<', toUuid(page.after));
  const rows = await query
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
    .execute();
  return rows.map(toEnrolment);
}

/** The lease lets other workers claim the rows of a crashed one. Not limited to one organisation. */
export async function claimDueEnrolments(
  tx: Tx,
  options: {
    readonly limit: number;
    readonly leaseMs: number;
    /** Maximum per supplier, so that slow hosts delay only their own supplier. */
    readonly perSupplier: number;
    readonly busy: readonly OrgId[];
  },
): Promise<readonly Enrolment[]> {
  const now = tx.clock.now();
  const { rows } = await sql<Selectable<Tables['supplier_machines']>>`
    update supplier_machines
       set next_try_at = ${new Date(now.getTime() + options.leaseMs)}, version = version + 1
     where id in (
       select id from supplier_machines
        where next_try_at <= ${now}
          and id in (select id from (
                select id, next_try_at, row_number() over (partition by org_id order by next_try_at, id) as nth
                  from supplier_machines
                 where next_try_at <= ${now} and org_id <> all (${options.busy.map(toUuid)}::uuid[])) as due
               where nth <= ${options.perSupplier}
               order by next_try_at
               limit ${options.limit})
        for update skip locked)
    returning *
  `.execute(tx.kysely);
  return rows.map(toEnrolment);
}

export async function findJoinTokenHash(
  reader: Reader,
  orgId: OrgId,
  joinTokenId: JoinTokenId,
): Promise<string | null> {
  const row = await reader.kysely
    .selectFrom('supplier_join_tokens')
    .select('secret_hash')
    .where('org_id', '=', toUuid(orgId))
    .where('id', '=', toUuid(joinTokenId))
    .executeTakeFirst();
  return row?.secret_hash.toString('hex') ?? null;
}

export type EnrolmentChange =
  | { readonly kind: 'again'; readonly problem: string | null; readonly atMs: number }
  | { readonly kind: 'inspect'; readonly clusterId: ClusterId }
  | { readonly kind: 'test'; readonly nodeId: NodeId }
  | { readonly kind: 'enrolled'; readonly tests: SelfTest }
  | { readonly kind: 'refused'; readonly problem: string };

/** Returns false when the row changed since it was read; that change then wins. */
export async function writeEnrolmentChange(
  tx: Tx,
  enrolment: Enrolment,
  change: EnrolmentChange,
): Promise<boolean> {
  const now = tx.clock.now();
  const { numUpdatedRows } = await tx.kysely
    .updateTable('supplier_machines')
    .set({ ...columnsOfChange(change, enrolment, now), version: enrolment.version + 1 })
    .where('org_id', '=', toUuid(enrolment.orgId))
    .where('id', '=', toUuid(enrolment.id))
    .where('stage', '=', enrolment.stage)
    .where('version', '=', enrolment.version)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

function columnsOfChange(change: EnrolmentChange, { tries }: Enrolment, now: Date) {
  const begin = (stage: ActiveStage) => ({
    stage,
    problem: null,
    trust_token: null,
    tries: 0,
    next_try_at: now,
    deadline_at: new Date(now.getTime() + stageTimeoutMs[stage]),
  });
  switch (change.kind) {
    case 'again': {
      const { problem, atMs } = change;
      return { problem, tries: tries + 1, next_try_at: new Date(now.getTime() + atMs) };
    }
    case 'inspect':
      return { ...begin('inspecting'), cluster_id: toUuid(change.clusterId) };
    case 'test':
      return { ...begin('testing'), node_id: toUuid(change.nodeId) };
    case 'enrolled':
      return {
        stage: 'enrolled' as const,
        problem: null,
        tries: 0,
        next_try_at: null,
        deadline_at: null,
        tests: JSON.stringify(change.tests),
        tested_at: now,
        enrolled_at: now,
      };
    case 'refused':
      return {
        stage: 'refused' as const,
        problem: change.problem,
        trust_token: null,
        next_try_at: null,
        deadline_at: null,
      };
  }
}
