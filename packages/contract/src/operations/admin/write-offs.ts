import { z } from 'zod';
import { rentalStatus } from '../../records/rental.ts';
import { node } from './fleet.ts';
import { adminOperation, auditReason, nanoUsd, timestamp } from '../../operation-builders.ts';
import { nodeId, nodeStatus } from '../node-schemas.ts';
import { wireId } from '../v2/rental-extensions.ts';

/** Operator operations: write-offs of rentals, nodes and volumes whose host never returns. */

const money = z.object({ amountUsd: z.number(), nanoUsd });

const writeOffBody = z
  .object({
    reason: auditReason,
    hostIsOff: z.literal(true).meta({
      description:
        'You confirm that the host is switched off or disconnected permanently. On a host that still runs, tenants can still reach their machines and volumes although they are not billed.',
    }),
  })
  .meta({ id: 'WriteOff' });

const rentalWriteOff = z
  .object({
    rentalId: z.int32(),
    status: rentalStatus,
    machinesWrittenOff: z.int().nonnegative().meta({
      description:
        'Machines declared lost by this request. Their GPUs and ports are released, and their nodes accept no new work.',
    }),
    machinesLeft: z.int().nonnegative().meta({
      description:
        'Machines that must still be removed, because their host responds or a volume still admits their address. The rental ends when they are removed; repeat the request if their host is lost too.',
    }),
    billingStoppedAt: timestamp.nullable().meta({
      description:
        'Time after this is not charged: the accepted end, or the last healthy time of the machine. Null if billing never started.',
    }),
    finalCost: money,
    nodes: z
      .array(z.object({ id: nodeId, name: z.string(), status: nodeStatus }))
      .meta({ description: 'The current nodes of the written-off machines.' }),
  })
  .meta({ id: 'RentalWriteOff' });

const nodeWriteOff = z
  .object({
    node: node.meta({
      description:
        '`node_removed` when nothing is allocated on it. Its GPUs no longer count as capacity and are not offered again.',
    }),
    rentals: z.array(rentalWriteOff),
  })
  .meta({ id: 'NodeWriteOff' });

const volumeWriteOff = z
  .object({
    storageVolumeId: z.int32(),
    billingStoppedAt: timestamp.nullable().meta({
      description: 'When its storage node last responded. Later charges are credited back.',
    }),
    finalCost: money,
    detachedRentalIds: z.array(z.int32()),
  })
  .meta({ id: 'VolumeWriteOff' });

const writeOff = {
  scope: 'admin:write',
  body: writeOffBody,
  refuses: [404, 409],
  idempotency: 'key',
} as const;

export const adminWriteOffOperations = {
  adminWriteOffRental: adminOperation('POST /v2/admin/rentals/{rentalId}/write-off', {
    ...writeOff,
    summary: 'Write off a rental whose host never returns',
    description:
      'Refused with `HOST_ANSWERS` while the hosts of all its machines respond. The machines and their data are declared lost, the rental ends, and their nodes are quarantined. If the host returns, its machines are removed as orphans before the node can be resumed. The request is idempotent.',
    tags: ['rentals'],
    params: z.object({ rentalId: wireId }),
    response: { status: 200, schema: rentalWriteOff },
    notFoundReason: 'RENTAL_NOT_FOUND',
  }),
  adminWriteOffNode: adminOperation('POST /v2/admin/nodes/{nodeId}/write-off', {
    ...writeOff,
    summary: 'Write off a node whose host never returns, with everything on it',
    description:
      'Refused with `HOST_ANSWERS` while its host responds. Every machine on the node is written off, then the node is removed. The node stays quarantined while a rental with machines on other hosts uses its GPUs: repeat the request when those machines are removed.',
    tags: ['fleet'],
    params: z.object({ nodeId }),
    response: { status: 200, schema: nodeWriteOff },
    notFoundReason: 'NODE_NOT_FOUND',
  }),
  adminWriteOffVolume: adminOperation('POST /v2/admin/volumes/{storageVolumeId}/write-off', {
    ...writeOff,
    summary: 'Write off a volume whose storage node never returns',
    description:
      'Refused with `HOST_ANSWERS` while its storage node responds. The data and snapshots are declared lost without retention, rentals are detached, and the volume is deleted. If the storage node returns, it deletes its copy of the volume when a worker reaches it.',
    tags: ['volumes'],
    params: z.object({ storageVolumeId: wireId }),
    response: { status: 200, schema: volumeWriteOff },
    notFoundReason: 'VOLUME_NOT_FOUND',
  }),
} as const;
