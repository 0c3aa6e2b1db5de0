import type { Reader } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import type { SnapshotId, VolumeId } from '@millrace/platform/ids';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';
import type { TenantRef } from '../../identity/index.ts';
import { createLivePriceLookup, initialHold, rateOf, volumePriceFor } from '../../prices/index.ts';
import { listAttachedRentals } from '../model/attachments.store.ts';
import { HOLD_WINDOW_MS } from '../../metering/index.ts';
import { findWireId, listSnapshots } from '../model/snapshots.store.ts';
import type { Snapshot, Volume } from '../model/volume.ts';
import { findVolume, listVolumes } from '../model/volumes.store.ts';

export interface VolumeRecord {
  readonly volume: Volume;
  readonly rentalIds: readonly number[];
}

export interface VolumeDetail extends VolumeRecord {
  /** The source volume of a restore in progress. */
  readonly sourceWireId: number | null;
  /** Test mode only: the price in live mode. Null in live mode, or if live mode has no price. */
  readonly livePerHour: NanoUsd | null;
}

/** The number of statements does not depend on the number of volumes. Returns one more than the limit if there are more. */
export async function listVolumeRecords(
  reader: Reader,
  tenant: TenantRef,
  page: { readonly after: VolumeId | null; readonly limit: number | null },
): Promise<readonly VolumeRecord[]> {
  const volumes = await listVolumes(reader, tenant, page);
  const holders = await listAttachedRentals(
    reader,
    tenant.orgId,
    volumes.map(({ id }) => id),
  );
  return volumes.map((volume) => ({ volume, rentalIds: idsOf(holders.get(volume.id)) }));
}

export async function volumeRecordOf(reader: Reader, volume: Volume): Promise<VolumeDetail> {
  const holders = await listAttachedRentals(reader, volume.orgId, [volume.id]);
  const { restore } = volume;
  const sourceWireId = restore === null ? null : await findWireId(reader, volume.orgId, restore.sourceId);
  const livePerHour = await livePriceOf(reader, volume, { ...volume, now: reader.clock.now() });
  return { volume, rentalIds: idsOf(holders.get(volume.id)), sourceWireId, livePerHour };
}

function idsOf(holders: readonly { readonly wireId: number }[] = []): readonly number[] {
  return holders.map(({ wireId }) => wireId);
}

/** Also a deleted volume in its retention. */
export async function getVolume(reader: Reader, tenant: TenantRef, wireId: number): Promise<VolumeDetail> {
  const volume = await findVolume(reader, tenant, wireId);
  if (volume === null) throw new Fault('VOLUME_NOT_FOUND');
  return volumeRecordOf(reader, volume);
}

export interface VolumeQuote {
  readonly perHour: NanoUsd;
  readonly hold: NanoUsd;
  /** As in `VolumeDetail`. */
  readonly livePerHour: NanoUsd | null;
}

const HOURS_30_DAYS = 720n;

export async function quoteVolume(
  reader: Reader,
  { orgId, mode }: TenantRef,
  volume: PricedVolume,
): Promise<VolumeQuote> {
  const price = await volumePriceFor(reader, orgId, mode, volume);
  return {
    perHour: rateOf(price),
    hold: initialHold(price, HOLD_WINDOW_MS),
    livePerHour: await livePriceOf(reader, { orgId, mode }, volume),
  };
}

export function priceOf30Days(perHour: NanoUsd): NanoUsd {
  return nanoUsd(perHour * HOURS_30_DAYS);
}

interface PricedVolume {
  readonly region: string;
  readonly sizeGb: number;
  readonly now: Date;
}

async function livePriceOf(
  reader: Reader,
  { orgId, mode }: TenantRef,
  { region, sizeGb, now }: PricedVolume,
): Promise<NanoUsd | null> {
  const prices = await createLivePriceLookup(reader, orgId, mode, now);
  return prices?.storage({ kind: 'volume', region }, sizeGb) ?? null;
}

export interface SnapshotRecord extends Snapshot {
  /** As in `VolumeDetail`; null before the snapshot is ready, because it is not billed until then. */
  readonly livePerHour: NanoUsd | null;
}

/** Newest first; returns one more than the limit if there are more. */
export async function listSnapshotsOfTenant(
  reader: Reader,
  tenant: TenantRef,
  wireId: number,
  page: { readonly after: SnapshotId | null; readonly limit: number },
): Promise<readonly SnapshotRecord[]> {
  const volume = await findVolume(reader, tenant, wireId);
  if (volume === null) throw new Fault('VOLUME_NOT_FOUND');
  const snapshots = await listSnapshots(reader, volume, page);
  const { orgId, mode, region } = volume;
  const prices = await createLivePriceLookup(reader, orgId, mode, reader.clock.now());
  return snapshots.map((snapshot) => ({
    ...snapshot,
    livePerHour:
      snapshot.status === 'ready'
        ? (prices?.storage({ kind: 'volume', region }, snapshot.sizeGb) ?? null)
        : null,
  }));
}
