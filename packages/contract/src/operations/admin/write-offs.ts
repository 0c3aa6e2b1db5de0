import { z } from 'zod';
import { rentalStatus } from '../../records/rental.ts';
import { node } from './fleet.ts';
import { adminOperation, auditReason, nanoUsd, timestamp } from '../../operation-builders.ts';
import { nodeId, nodeStatus } from '../node-schemas.ts';
import { wireId } from '../v2/rental-extensions.ts';

/** Operators: end rentals, nodes and volumes whose host never returns. */

const money = z.object({ amountUsd: z.number(), nanoUsd });

const writeOffBody = z
  .object({
    reason: auditReason,
    hostIsOff: z.literal(true).meta({
      description:
        'You confirm that the host is switched off or disconnected for good. A host that still runs keeps its ' +
        'machines and volumes reachable for their tenants although nothing is billed for them.',
    }),
  })
  .meta({ id: 'WriteOff' });

const rentalWriteOff = z
  .object({
    rentalId: z.int32(),
    status: rentalStatus,
    machinesWrittenOff: z.int().nonnegative().meta({
      description:
        'Machines declared lost by this call. Their GPUs and ports are released, and their nodes sell nothing.',
    }),
    machinesLeft: z
      .int()
      .nonnegative()
      .meta({
        description:
          'Machines that are still to be removed, because their host answers or a volume still admits their address. ' +
          'The rental ends when they are gone; repeat the call if their host is lost too.',
      }),
    billingStoppedAt: timestamp.nullable().meta({
      description:
        'Time after this is not charged: it is the accepted end, or the last time at which the machine was seen to run. ' +
        'Null when billing never began.',
    }),
    finalCost: money,
    nodes: z
      .array(z.object({ id: nodeId, name: z.string(), status: nodeStatus }))
      .meta({ description: 'The nodes of the written-off machines, as they are now.' }),
  })
  .meta({ id: 'RentalWriteOff' });

const nodeWriteOff = z
  .object({
    node: node.meta({
      description:
        '`node_removed` once nothing of it is allocated. Its GPUs are gone from the capacity and are not offered again.',
    }),
    rentals: z.array(rentalWriteOff),
  })
  .meta({ id: 'NodeWriteOff' });

const volumeWriteOff = z
  .object({
    storageVolumeId: z.int32(),
    billingStoppedAt: timestamp.nullable().meta({
      description: 'When its storage node last answered. Later charges are given back.',
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
    summary: 'End a rental whose host never returns',
    description:
      'Refused with `HOST_ANSWERS` while the host of each of its machines answers. The machines and their data are ' +
      'declared lost, the rental ends, and their nodes are quarantined. If the host returns, its machines are ' +
      'removed as orphans before the node can be resumed. Repeating the call changes nothing.',
    tags: ['rentals'],
    params: z.object({ rentalId: wireId }),
    response: { status: 200, schema: rentalWriteOff },
    notFoundReason: 'RENTAL_NOT_FOUND',
  }),
  adminWriteOffNode: adminOperation('POST /v2/admin/nodes/{nodeId}/write-off', {
    ...writeOff,
    summary: 'Remove a node whose host never returns, and end what is on it',
    description:
      'Refused with `HOST_ANSWERS` while its host answers. Every machine on the node is written off, then the node is ' +
      'removed. The node stays quarantined while a rental that also has machines on other hosts holds its GPUs: ' +
      'repeat the call when those machines are gone.',
    tags: ['fleet'],
    params: z.object({ nodeId }),
    response: { status: 200, schema: nodeWriteOff },
    notFoundReason: 'NODE_NOT_FOUND',
  }),
  adminWriteOffVolume: adminOperation('POST /v2/admin/volumes/{storageVolumeId}/write-off', {
    ...writeOff,
    summary: 'End a volume whose storage node never returns',
    description:
      'Refused with `HOST_ANSWERS` while its storage node answers. The data and snapshots are declared lost without ' +
      'retention, rentals are detached, and the volume is deleted. If the storage node returns, it deletes what it ' +
      'still has of the volume as soon as a worker has reached it.',
    tags: ['volumes'],
    params: z.object({ storageVolumeId: wireId }),
    response: { status: 200, schema: volumeWriteOff },
    notFoundReason: 'VOLUME_NOT_FOUND',
  }),
} as const;
