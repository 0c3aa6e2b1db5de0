import type { Reader, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { toUuid, type ClusterId, type NodeId, type OrgId } from '@millrace/platform/ids';
import { sql } from 'kysely';

/** All SQL about machines that were written off: while one may still exist, its node is not put back into use. */

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

/**
 * Written-off machines that may still exist, with the name of their node. A cluster that was removed and registered again is
 * the same engine: it has the same driver and endpoint.
 */
const openWriteOffs = sql`
  written_off_machines as machine
    join nodes as lost on lost.id = machine.node_id
    join clusters as was on was.id = machine.cluster_id`;

const isSameEngine = (clusterId: ClusterId) => sql`
  (was.id = ${toUuid(clusterId)}
    or (was.driver, was.endpoint) = (select now.driver, now.endpoint from clusters as now where now.id = ${toUuid(clusterId)}))`;

/** How many written-off machines of the node may still exist. */
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

/** The names of nodes at the cluster's engine whose written-off machines may still exist. */
export async function listWithheldNodeNames(db: Reader, clusterId: ClusterId): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ name: string }>`
    select distinct lost.name from ${openWriteOffs}
     where machine.absent_at is null and ${isSameEngine(clusterId)}
  `.execute(db.kysely);
  return new Set(rows.map(({ name }) => name));
}

/** The engine has listed its machines: those that were written off and are not in the list do not exist any more. */
export async function confirmWriteOffs(
  tx: Tx,
  clusterId: ClusterId,
  seen: {
    readonly externalIds: readonly string[];
    /** Names of nodes whose machines the engine could not list. */
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
