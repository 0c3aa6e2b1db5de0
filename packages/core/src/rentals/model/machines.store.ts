import type { PortMapping } from '@millrace/compute';
import type { Reader, Tables, Tx } from '@millrace/platform/db';
import {
  fromUuid,
  toUuid,
  type ClusterId,
  type NodeId,
  type OrgId,
  type RentalId,
} from '@millrace/platform/ids';
import { sql, type Selectable, type Updateable } from 'kysely';
import { nodeName } from '../../fleet/index.ts';
import type { ColumnsOf } from './columns.ts';
import type { NewMachine, RentalMachine, ShownMachine } from './rental.ts';

/** All SQL on `rental_machines`. Callers that write hold the rental's lock. */

type MachineRow = Selectable<Tables['rental_machines']>;

export const shownMachineColumns =
  `position, external_id, gpu_addresses, ports, cpu_count, ram_mb, disk_gb, state, address,
  private_ip, ssh_user, host_key` as const;

export function toShownMachine(row: Pick<MachineRow, ColumnsOf<typeof shownMachineColumns>>): ShownMachine {
  return {
    position: row.position,
    externalId: row.external_id,
    gpuAddresses: row.gpu_addresses,
    ports: row.ports as unknown as readonly PortMapping[],
    cpuCount: row.cpu_count,
    ramMb: row.ram_mb,
    diskGb: row.disk_gb,
    state: row.state,
    address: row.address,
    privateIp: row.private_ip,
    sshUser: row.ssh_user,
    hostKey: row.host_key,
  };
}

function toMachine(row: MachineRow & { node_name: string }): RentalMachine {
  return {
    ...toShownMachine(row),
    rentalId: fromUuid('rnt', row.rental_id),
    attempt: row.attempt,
    orgId: fromUuid('org', row.org_id),
    mode: row.mode,
    allocationId: row.allocation_id === null ? null : fromUuid('alc', row.allocation_id),
    clusterId: fromUuid('cls', row.cluster_id),
    nodeId: fromUuid('nod', row.node_id),
    nodeName: row.node_name,
    proofKey: row.proof_key,
    starting: row.starting,
    cutAt: row.cut_at,
    absentSeen: row.absent_seen,
    confirmedDeletedAt: row.gone_at,
    tries: row.tries,
    nextTryAt: row.next_try_at,
    terminatingSince: row.doomed_at,
    lastError: row.last_error,
  };
}

export async function insertMachines(tx: Tx, orgId: OrgId, machines: readonly NewMachine[]): Promise<void> {
  await tx.kysely
    .insertInto('rental_machines')
    .values(
      machines.map((machine) => ({
        rental_id: toUuid(machine.rentalId),
        attempt: machine.attempt,
        position: machine.position,
        org_id: toUuid(orgId),
        mode: machine.mode,
        external_id: machine.externalId,
        allocation_id: machine.allocationId === null ? null : toUuid(machine.allocationId),
        cluster_id: toUuid(machine.clusterId),
        node_id: toUuid(machine.nodeId),
        gpu_addresses: [...machine.gpuAddresses],
        ports: JSON.stringify(machine.ports),
        cpu_count: machine.cpuCount,
        ram_mb: machine.ramMb,
        disk_gb: machine.diskGb,
        state: 'wanted' as const,
      })),
    )
    .execute();
}

/** `there`: machines that the engine might still have. */
export async function listMachines(
  reader: Reader,
  orgId: OrgId,
  rentalId: RentalId,
  which: 'there' | 'all' = 'there',
): Promise<readonly RentalMachine[]> {
  let query = reader.kysely
    .selectFrom('rental_machines as machine')
    .selectAll('machine')
    .select(nodeName('machine.node_id').as('node_name'))
    .where('machine.rental_id', '=', toUuid(rentalId))
    .where('machine.org_id', '=', toUuid(orgId));
  if (which === 'there') query = query.where('machine.state', '<>', 'gone');
  const rows = await query.orderBy('machine.attempt').orderBy('machine.position').execute();
  return rows.map(toMachine);
}

type PlacedField = Exclude<keyof NewMachine, 'allocationId' | 'gpuAddresses' | 'ports'>;
export type MachineChanges = Partial<Omit<RentalMachine, PlacedField | 'nodeName'>>;

function toUpdate(changes: MachineChanges): Updateable<Tables['rental_machines']> {
  const row: Updateable<Tables['rental_machines']> = {
    allocation_id: changes.allocationId == null ? changes.allocationId : toUuid(changes.allocationId),
    gpu_addresses: changes.gpuAddresses === undefined ? undefined : [...changes.gpuAddresses],
    ports: changes.ports === undefined ? undefined : JSON.stringify(changes.ports),
    state: changes.state,
    proof_key: changes.proofKey,
    address: changes.address,
    private_ip: changes.privateIp,
    ssh_user: changes.sshUser,
    host_key: changes.hostKey,
    starting: changes.starting,
    cut_at: changes.cutAt,
    absent_seen: changes.absentSeen,
    gone_at: changes.confirmedDeletedAt,
    tries: changes.tries,
    next_try_at: changes.nextTryAt,
    doomed_at: changes.terminatingSince,
    last_error: changes.lastError,
  };
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined));
}

/** Writes the changes unless the machine's state has changed since it was read; then returns false and writes nothing. */
export async function saveMachine(tx: Tx, before: RentalMachine, changes: MachineChanges): Promise<boolean> {
  const { numUpdatedRows } = await tx.kysely
    .updateTable('rental_machines')
    .set(toUpdate(changes))
    .where('rental_id', '=', toUuid(before.rentalId))
    .where('attempt', '=', before.attempt)
    .where('position', '=', before.position)
    .where('org_id', '=', toUuid(before.orgId))
    .where('state', '=', before.state)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Marks all machines of the rental, or of one attempt, for deletion. */
export async function markMachinesTerminating(
  tx: Tx,
  orgId: OrgId,
  rentalId: RentalId,
  options: { readonly now: Date; readonly attempt?: number },
): Promise<void> {
  let query = tx.kysely
    .updateTable('rental_machines')
    .set({ state: 'doomed', doomed_at: options.now, next_try_at: options.now, tries: 0, proof_key: null })
    .where('rental_id', '=', toUuid(rentalId))
    .where('org_id', '=', toUuid(orgId))
    .where('state', 'not in', ['doomed', 'gone']);
  if (options.attempt !== undefined) query = query.where('attempt', '=', options.attempt);
  await query.execute();
}

/**
 * Makes postponed deletions of a cluster due now and returns the number of rentals affected. Their version grows so that a
 * handler cannot write the old wait back. Locked rentals are skipped because a worker is reconciling them.
 */
export async function resumeDeletions(
  tx: Tx,
  clusterId: ClusterId,
  due: { readonly nextActionAt: Date; readonly deadlineAt: Date },
): Promise<number> {
  const { rows } = await sql<{ id: string }>`
    update rentals set next_action_at = ${due.nextActionAt}, deadline_at = ${due.deadlineAt}, version = version + 1
     where id in (
       select rental.id from rentals as rental
        where rental.status <> 'Terminated'
          and rental.id in (
            select machine.rental_id from rental_machines as machine
             where machine.cluster_id = ${toUuid(clusterId)} and machine.state = 'doomed' and machine.tries > 0
               and machine.next_try_at > ${due.nextActionAt})
        order by rental.id for no key update skip locked)
    returning id
  `.execute(tx.kysely);
  if (rows.length === 0) return 0;
  await sql`
    update rental_machines set next_try_at = ${due.nextActionAt}, tries = 0
     where rental_id = any (${rows.map(({ id }) => id)}::uuid[]) and cluster_id = ${toUuid(clusterId)}
       and state = 'doomed' and next_try_at > ${due.nextActionAt}
  `.execute(tx.kysely);
  return rows.length;
}

/** Rentals that have, or might have, a machine on the node, in lock order. */
export async function listRentalsOnNode(
  reader: Reader,
  nodeId: NodeId,
): Promise<readonly { readonly orgId: OrgId; readonly id: RentalId }[]> {
  const rows = await reader.kysely
    .selectFrom('rental_machines')
    .select(['org_id', 'rental_id'])
    .distinct()
    .where('node_id', '=', toUuid(nodeId))
    .where('state', '<>', 'gone')
    .orderBy('rental_id')
    .execute();
  return rows.map((row) => ({ orgId: fromUuid('org', row.org_id), id: fromUuid('rnt', row.rental_id) }));
}
