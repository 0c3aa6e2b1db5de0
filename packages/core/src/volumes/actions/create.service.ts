import { bareMetalRegions } from '@millrace/contract';
import type { Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { Fault } from '@millrace/platform/fault';
import { toUuid, type VolumeId } from '@millrace/platform/ids';
import {
  appendAuditEntry,
  authorizeCaller,
  findKey,
  type ApiKey,
  type AuthorizedCaller,
  type CallContext,
  type TenantRef,
} from '../../identity/index.ts';
import { rateOf, volumePriceFor } from '../../prices/index.ts';
import { isWireId, lockRentals } from '../../rental-lookup/index.ts';
import { attachRentals } from './attach.service.ts';
import { requireRentals } from './attach-rules.ts';
import {
  requireVolumeRegionAllowed,
  requireKeySpendLimit,
  requireVolumeWithinSpendingLimit,
  type RestoreSource,
  type VolumeOrder,
} from './volume-order.ts';
import { readKeyRunningTotals } from '../money/key-running-totals.store.ts';
import { holdForVolume } from '../money/volume-billing.service.ts';
import { chooseStorageNode, type VolumePlacement } from '../model/storage-nodes.ts';
import { isRegionServed, lockStorageNodes, readNodeUsage } from '../model/storage-nodes.store.ts';
import { defaultVolumePolicy } from '../model/policy.ts';
import { createRestore, restoringReason } from './snapshot-restore.ts';
import { volumeResourceOf, type Volume } from '../model/volume.ts';
import { countVolumes, insertTransition, insertVolume, isLabelTaken } from '../model/volumes.store.ts';

/** `wireId` was taken before the transaction. Lock order: organisation, rentals, storage nodes, volume, ledger. */
export async function createVolume(
  tx: Tx,
  call: CallContext,
  order: VolumeOrder & { readonly rentalIds: readonly number[] },
  wireId: number,
): Promise<Volume> {
  const caller = await authorizeCaller(tx, call, 'volumes:write');
  const { mode } = caller.key;
  const ids = [...new Set(order.rentalIds)];
  const rentals = ids.length === 0 ? [] : await lockRentals(tx, call.orgId, mode, ids.filter(isWireId));
  requireRentals(rentals, ids, order.region);
  const volume = await acceptVolume(tx, call, caller, order, wireId);
  return rentals.length === 0 ? volume : attachRentals(tx, volume, rentals, call.cause.actor);
}

/** For an authorised caller, without rentals. With an origin, the volume is filled from a snapshot. */
export async function acceptVolume(
  tx: Tx,
  call: CallContext,
  { key }: Pick<AuthorizedCaller, 'key'>,
  order: VolumeOrder,
  wireId: number,
  origin: RestoreSource | null = null,
): Promise<Volume> {
  const { orgId } = call;
  const now = tx.clock.now();
  requireVolumeRegionAllowed(order.region, key.limits);
  await requireStorageRegion(tx, key.mode, order.region);
  const tenant = { orgId, mode: key.mode };
  await requireFreeLabel(tx, tenant, order.label);
  await requireQuota(tx, tenant);
  const { region, sizeGb } = order;
  const price = await volumePriceFor(tx, orgId, key.mode, { region, sizeGb, now });
  requireVolumeWithinSpendingLimit(order.maxUsd, price);
  await requireWithinKeySpend(tx, key, rateOf(price));
  const spot =
    origin === null ? await placeVolume(tx, key.mode, order) : await placeVolumeOnNode(tx, origin, order);
  const owner = { ...tenant, wireId, keyId: key.id };
  const volume = await insertVolume(tx, orgId, {
    ...owner,
    ...spot,
    id: tx.ids.next('vol'),
    userId: key.userId,
    region,
    label: order.label,
    name: order.name,
    tags: order.tags,
    sizeGb,
    price,
    maxNanoUsd: order.maxUsd,
    holdId: await holdForVolume(tx, owner, { step: 'create', price }),
    phase: 'provisioning',
    status: 'inactive',
    restore: origin === null ? null : createRestore(tx, origin.snapshot, defaultVolumePolicy.provisionMs),
    statusReason: origin === null ? 'The volume is being created.' : restoringReason(origin.snapshot.id),
    statusSince: now,
    endReason: null,
    createdAt: now,
    updatedAt: null,
    startedAt: null,
    endAcceptedAt: null,
    purgeAt: null,
    unhealthySince: null,
    tries: 0,
    lastError: null,
    nextActionAt: now,
  });
  await recordVolumeCreation(tx, call, volume);
  return volume;
}

/** Test keys use the mock region, and bare-metal regions because bare metal has no mock region. Live keys use all regions except mock. */
async function requireStorageRegion(tx: Tx, mode: Mode, region: string): Promise<void> {
  const isMock = region === 'mock-region';
  if (isMock && mode === 'live') {
    throw new Fault('REGION_DISABLED', {
      message: 'The mock region is for test keys.',
      suggestion: 'Choose another region, or use a test key.',
    });
  }
  if (mode === 'test' && !isMock && !(bareMetalRegions as readonly string[]).includes(region)) {
    throw new Fault('REGION_DISABLED', {
      message: 'Test keys can create volumes only in mock-region and in the regions of bare metal.',
      suggestion: 'Choose mock-region, or use a live key.',
    });
  }
  if (!(await isRegionServed(tx, mode, region))) {
    throw new Fault('REGION_DISABLED', {
      message: 'This region has no storage for volumes.',
      suggestion: 'Choose a region that offers volumes, or contact the operator.',
    });
  }
}

/** Limit per organisation and mode, including volumes in their retention. */
const VOLUMES_MAX = 1_000;

async function requireQuota(tx: Tx, owner: TenantRef): Promise<void> {
  if ((await countVolumes(tx, owner)) < VOLUMES_MAX) return;
  throw new Fault('QUOTA_EXCEEDED', {
    message: `An organisation can have at most ${VOLUMES_MAX} volumes, including deleted volumes in their retention. Wait until some are purged, or contact the operator.`,
  });
}

/** Exact, because the organisation is locked. Deleted volumes do not keep their label. */
export async function requireFreeLabel(tx: Tx, owner: TenantRef, label: string): Promise<void> {
  if (await isLabelTaken(tx, owner, label)) throw new Fault('VOLUME_LABEL_TAKEN');
}

export async function requireWithinKeySpend(
  tx: Tx,
  key: Pick<ApiKey, 'id' | 'orgId' | 'limits'>,
  more: Parameters<typeof requireKeySpendLimit>[2],
  beside: VolumeId | null = null,
): Promise<void> {
  if (key.limits.maxUsdPerHour === null) return;
  requireKeySpendLimit(key.limits, await readKeyRunningTotals(tx, key.orgId, key.id, beside), more);
}

/** Both the key that created the volume, which pays, and the caller's key must allow an addition to it. */
export async function requireWithinKeySpendOfVolume(
  tx: Tx,
  key: ApiKey,
  volume: Pick<Volume, 'id' | 'keyId'>,
  more: Parameters<typeof requireKeySpendLimit>[2],
): Promise<void> {
  const maker =
    volume.keyId === null || volume.keyId === key.id ? null : await findKey(tx, key.orgId, volume.keyId);
  if (maker !== null) await requireWithinKeySpend(tx, maker, more);
  await requireWithinKeySpend(tx, key, more, volume.id);
}

async function placeVolume(tx: Tx, mode: Mode, { region, sizeGb }: VolumeOrder): Promise<VolumePlacement> {
  const nodes = await lockStorageNodes(tx, { mode, region });
  const loads = await readNodeUsage(
    tx,
    nodes.map(({ id }) => id),
  );
  const spot = chooseStorageNode(nodes, loads, sizeGb);
  if (spot === null) {
    throw new Fault('INSUFFICIENT_CAPACITY', {
      message: 'No storage node of this region has enough free space for this size.',
      suggestion: 'Try a smaller size or another region, or try again later.',
    });
  }
  return spot;
}

/** A restored volume shares blocks with its snapshot, so it must be on the same node. */
async function placeVolumeOnNode(
  tx: Tx,
  { nodeId }: RestoreSource,
  { sizeGb }: VolumeOrder,
): Promise<VolumePlacement> {
  const [node] = await lockStorageNodes(tx, { id: nodeId });
  const isOpen = node?.configured === true && node.status === 'connected';
  const spot = isOpen ? chooseStorageNode([node], await readNodeUsage(tx, [nodeId]), sizeGb) : null;
  if (spot === null) {
    throw new Fault('INSUFFICIENT_CAPACITY', {
      message: isOpen
        ? 'The storage node of the snapshot has not enough free space for this size. A snapshot can be restored only on its own node.'
        : 'The storage node of the snapshot accepts no new volumes right now. A snapshot can be restored only on its own node.',
      suggestion: 'Try again later, or restore the snapshot into its own volume.',
    });
  }
  return spot;
}

async function recordVolumeCreation(tx: Tx, { orgId, cause }: CallContext, volume: Volume): Promise<void> {
  await insertTransition(tx, volume, {
    seq: 1,
    from: null,
    to: 'inactive',
    reason: volume.statusReason,
    actor: cause.actor,
    at: volume.createdAt,
  });
  const { wireId, region, label, sizeGb, price } = volume;
  await appendAuditEntry(tx, orgId, cause, {
    action: 'volume.created',
    resource: volumeResourceOf(volume),
    after: {
      storageVolumeId: wireId,
      externalId: toUuid(volume.id),
      region,
      label,
      sizeGb,
      rateNanoUsdPerHour: price.rateNanoUsdPerHour,
    },
  });
}
