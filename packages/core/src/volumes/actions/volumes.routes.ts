import type { Contract } from '@millrace/contract';
import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { Fault } from '@millrace/platform/fault';
import {
  decodeCursor,
  linkNext,
  reply,
  requirePrincipal,
  toPage,
  type HttpServer,
} from '@millrace/platform/http';
import { parseId, type OrgId, type VolumeId } from '@millrace/platform/ids';
import { z } from 'zod';
import {
  callContextOf,
  operatorAuditContext,
  pageById,
  positionFromCursor,
  readCommitted,
} from '../../identity/index.ts';
import { attachVolume, detachVolume } from './attach.service.ts';
import { requireMaxUsd, requireRestoreOrder } from './volume-order.ts';
import { createVolume } from './create.service.ts';
import { deleteVolume } from './lifecycle.service.ts';
import {
  getVolume,
  listSnapshotsOfTenant,
  listVolumeRecords,
  quoteVolume,
  volumeRecordOf,
} from './volume-queries.service.ts';
import { restoreSnapshot, type RestoreRequest } from './snapshot-restore.service.ts';
import { createSnapshot, deleteSnapshot } from './snapshots.service.ts';
import { updateVolume } from './update.service.ts';
import {
  toWireCreated,
  toWireDetail,
  toWireQuote,
  toWireSnapshot,
  toWireVolume,
  toWireWriteOff,
} from './volumes.wire.ts';
import { writeOffVolume } from './write-off.service.ts';

export interface VolumeRoutes {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly db: Db;
  readonly clock: Timer;
  /** Runs before the transaction of an order: takes a wire id and recalls granted credit. */
  readonly ordering: <T>(
    who: { readonly orgId: OrgId; readonly mode: Mode },
    work: (wireId: number, use: () => void) => Promise<T>,
  ) => Promise<T>;
}

const resourceOf = (id: number) => ({ kind: 'volume', id: String(id) });
const changeTransaction = { name: 'change volume', isolation: readCommitted } as const;

export function serveVolumes(routes: VolumeRoutes): void {
  serveCreateAndList(routes);
  serveAttachments(routes);
  serveChanges(routes);
  serveSnapshots(routes);
  serveRestores(routes);
  serveWriteOff(routes);
}

function serveWriteOff({ server, operations }: VolumeRoutes): void {
  server.serve(operations.adminWriteOffVolume, ({ params, body, context, transact }) =>
    transact({ name: 'write off volume', isolation: readCommitted }, async (tx) => {
      const request = { storageVolumeId: params.storageVolumeId, reason: body.reason };
      const done = await writeOffVolume(tx, operatorAuditContext(context), request);
      return { body: toWireWriteOff(done), resource: resourceOf(params.storageVolumeId) };
    }),
  );
}

function serveCreateAndList({ server, operations, db, ordering }: VolumeRoutes): void {
  server.serve(operations.createStorageVolume, ({ body, context, transact }) => {
    const { region, label, sizeInGb: sizeGb, rentalIds = [], name = null, tags = {} } = body;
    const maxUsd = body.maxUsd === undefined ? null : requireMaxUsd(body.maxUsd);
    const order = { region, label, sizeGb, rentalIds, name, tags, maxUsd };
    const call = callContextOf(context);
    return ordering(requirePrincipal(context), (wireId, use) =>
      transact({ name: 'create volume', isolation: readCommitted }, async (tx) => {
        const record = await volumeRecordOf(tx, await createVolume(tx, call, order, wireId));
        use();
        return { body: toWireCreated(record), resource: resourceOf(wireId) };
      }),
    );
  });

  server.serve(operations.listStorageVolumes, async ({ query, context }) => {
    const principal = requirePrincipal(context);
    const { limit = null } = query;
    const after = query.cursor === undefined ? null : decodeCursor(query.cursor, volumeCursor).volume;
    const rows = await listVolumeRecords(db, principal, { after, limit });
    const { items, nextCursor } = toPage({
      rows,
      limit: limit ?? rows.length,
      toItem: toWireVolume,
      positionOf: ({ volume }) => ({ volume: volume.id }),
    });
    return reply([...items], nextCursor === null ? {} : { link: linkNext(context.url, nextCursor) });
  });

  server.serve(operations.quoteStorageVolume, async ({ query, context }) => {
    const { region, sizeInGb: sizeGb } = query;
    const request = { region, sizeGb, now: db.clock.now() };
    return toWireQuote(await quoteVolume(db, requirePrincipal(context), request));
  });

  server.serve(operations.getStorageVolume, async ({ params, context }) =>
    toWireDetail(await getVolume(db, requirePrincipal(context), params.storageVolumeId)),
  );
}

const volumeCursor = z.strictObject({
  volume: z.custom<VolumeId>(
    (value) => typeof value === 'string' && parseId('vol', value) !== null,
    'belongs to another list',
  ),
});

function serveAttachments({ server, operations }: VolumeRoutes): void {
  server.serve(operations.attachStorageVolume, ({ body, context, transact }) =>
    transact({ name: 'attach volume', isolation: readCommitted }, async (tx) => {
      const { storageVolumeId } = body;
      const attachedRentalIds = await attachVolume(tx, callContextOf(context), body);
      const message = `Volume ${storageVolumeId} is attached to ${rentalsText(attachedRentalIds)}.`;
      return {
        body: { storageVolumeId, attachedRentalIds: [...attachedRentalIds], message },
        resource: resourceOf(storageVolumeId),
      };
    }),
  );

  server.serve(operations.detachStorageVolume, ({ body, context, transact }) =>
    transact({ name: 'detach volume', isolation: readCommitted }, async (tx) => {
      const { storageVolumeId } = body;
      const detachedRentalIds = await detachVolume(tx, callContextOf(context), body);
      const message = `Volume ${storageVolumeId} is detached from ${rentalsText(detachedRentalIds)}.`;
      return {
        body: { storageVolumeId, detachedRentalIds: [...detachedRentalIds], message },
        resource: resourceOf(storageVolumeId),
      };
    }),
  );
}

const rentalsText = (rentalIds: readonly number[]): string =>
  rentalIds.length === 1 ? `rental ${rentalIds[0]}` : `${rentalIds.length} rentals`;

function serveChanges({ server, operations }: VolumeRoutes): void {
  server.serve(operations.updateStorageVolume, ({ params, body, context, transact }) =>
    transact(changeTransaction, async (tx) => {
      const volume = await updateVolume(tx, callContextOf(context), params.storageVolumeId, body);
      return { body: toWireDetail(await volumeRecordOf(tx, volume)) };
    }),
  );

  server.serve(operations.deleteStorageVolume, ({ params, context, transact }) =>
    transact({ name: 'delete volume', isolation: readCommitted }, async (tx) => {
      const volume = await deleteVolume(tx, callContextOf(context), params.storageVolumeId);
      return { body: toWireDetail(await volumeRecordOf(tx, volume)) };
    }),
  );
}

function serveRestores({ server, operations, ordering }: VolumeRoutes): void {
  server.serve(operations.restoreStorageVolumeSnapshot, ({ params, body, context, transact }) => {
    const snapshotId = parseId('snp', params.snapshotId);
    if (snapshotId === null) throw new Fault('SNAPSHOT_NOT_FOUND');
    const of = { wireId: params.storageVolumeId, snapshotId };
    const call = callContextOf(context);
    const accept = (request: RestoreRequest, use: () => void) =>
      transact({ name: 'restore snapshot', isolation: readCommitted }, async (tx) => {
        const volume = await restoreSnapshot(tx, call, of, request);
        use();
        return { body: toWireDetail(await volumeRecordOf(tx, volume)), resource: resourceOf(volume.wireId) };
      });
    const order = requireRestoreOrder(body);
    if (order === null) return accept({ into: 'same-volume' }, () => undefined);
    return ordering(requirePrincipal(context), (wireId, use) =>
      accept({ into: 'new-volume', wireId, order }, use),
    );
  });
}

function serveSnapshots({ server, operations, db }: VolumeRoutes): void {
  server.serve(operations.createStorageVolumeSnapshot, ({ params, body, context, transact }) =>
    transact({ name: 'create snapshot', isolation: readCommitted }, async (tx) => {
      const { storageVolumeId } = params;
      const snapshot = await createSnapshot(tx, callContextOf(context), storageVolumeId, body.label);
      return {
        body: toWireSnapshot(snapshot, storageVolumeId),
        resource: { kind: 'snapshot', id: snapshot.id },
      };
    }),
  );

  server.serve(operations.listStorageVolumeSnapshots, async ({ params, query, context }) => {
    const { storageVolumeId } = params;
    const { limit } = query;
    const page = { limit, after: positionFromCursor('snp', query.cursor) };
    const rows = await listSnapshotsOfTenant(db, requirePrincipal(context), storageVolumeId, page);
    return pageById(rows, limit, (snapshot) => toWireSnapshot(snapshot, storageVolumeId));
  });

  server.serve(operations.deleteStorageVolumeSnapshot, ({ params, context, transact }) => {
    const id = parseId('snp', params.snapshotId);
    if (id === null) throw new Fault('SNAPSHOT_NOT_FOUND');
    return transact({ name: 'delete snapshot', isolation: readCommitted }, async (tx) => {
      await deleteSnapshot(tx, callContextOf(context), params.storageVolumeId, id);
      return { body: undefined };
    });
  });
}
