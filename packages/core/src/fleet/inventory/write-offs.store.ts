import type { Reader, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { toUuid, type ClusterId, type NodeId, type OrgId } from '@millrace/platform/ids';
import { sql } from 'kysely';

/** SQL about written-off machines: while one may still exist, its node must not return to use. */

export interface WrittenOffMachine {
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly clusterId: ClusterId;
  readonly nodeId: NodeId;
  readonly externalId: string;
}

export async function recordWriteOff(tx: Tx, orgId: OrgId, machine: WrittenOffMachine): Promise<void> {
  await sql`
    insert into written_off_machines (org_id, cluster_id, external_id, mode, node_id, written_off_at)
    values (${toUuid(orgId)}, ${toUuid(machine.clusterId)}, ${machine.externalId}, ${machine.mode},
            ${toUuid(machine.nodeId)}, ${tx.clock.now()})
    on conflict do nothing
  `.execute(tx.kysely);
}

/** A cluster that was registered again with the same driver and endpoint is the same engine. */
const openWriteOffs = sql`
  written_off_machines as machine
    join nodes as lost on lost.id = machine.node_id
    join clusters as was on was.id = machine.cluster_id`;

const isSameEngine = (clusterId: ClusterId) => sql`
  (was.id = ${toUuid(clusterId)}
    or (was.driver, was.endpoint) = (select now.driver, now.endpoint from clusters as now where now.id = ${toUuid(clusterId)}))`;

/** Counts write-offs of the node that the engine has not confirmed as absent. */
export async function countWriteOffs(
  reader: Reader,
  node: { readonly clusterId: ClusterId; readonly name: string },
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from ${openWriteOffs}
     where machine.absent_at is null and lost.name = ${node.name} and ${isSameEngine(node.clusterId)}
  `.execute(reader.kysely);
  return rows[0]?.count ?? 0;
}

export async function listWithheldNodeNames(db: Reader, clusterId: ClusterId): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ name: string }>`
    select distinct lost.name from ${openWriteOffs}
     where machine.absent_at is null and ${isSameEngine(clusterId)}
  `.execute(db.kysely);
  return new Set(rows.map(({ name }) => name));
}

/** Marks write-offs as absent if the engine's list does not contain their machine. */
export async function confirmWriteOffs(
  tx: Tx,
  clusterId: ClusterId,
  seen: {
    readonly externalIds: readonly string[];
    /** Nodes whose machines the engine could not list. */
    readonly unlisted: readonly string[];
  },
): Promise<void> {
  await sql`
    update written_off_machines as written set absent_at = ${tx.clock.now()}
      from ${openWriteOffs}
     where machine.absent_at is null and ${isSameEngine(clusterId)}
       and lost.name <> all (${[...seen.unlisted]}::text[])
       and machine.external_id <> all (${[...seen.externalIds]}::text[])
       and (written.org_id, written.cluster_id, written.external_id)
         = (machine.org_id, machine.cluster_id, machine.external_id)
  `.execute(tx.kysely);
}
