import type { Reader } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { Fault } from '@millrace/platform/fault';
import type { OrgId, SnapshotId, VolumeId } from '@millrace/platform/ids';
import { isWireId } from './attach.service.ts';
import { listHolders } from './attachments.store.ts';
import { listSnapshots } from './snapshots.store.ts';
import type { Snapshot, Volume } from './volume.ts';
import { findVolume, listVolumes } from './volumes.store.ts';

/** A volume with the rentals that have it. */
export interface VolumeRecord {
  readonly volume: Volume;
  readonly rentalIds: readonly number[];
}

export interface Asker {
  readonly orgId: OrgId;
  readonly mode: Mode;
}

/** Those that are not gone, with as many statements as one of them takes. One more than the limit, where there are. */
export async function listRecords(
  reader: Reader,
  { orgId, mode }: Asker,
  page: { readonly after: VolumeId | null; readonly limit: number | null },
): Promise<readonly VolumeRecord[]> {
  const volumes = await listVolumes(reader, orgId, mode, page);
  const holders = await listHolders(
    reader,
    orgId,
    volumes.map(({ id }) => id),
  );
  return volumes.map((volume) => ({ volume, rentalIds: idsOf(holders.get(volume.id)) }));
}

export async function recordOf(reader: Reader, volume: Volume): Promise<VolumeRecord> {
  const holders = await listHolders(reader, volume.orgId, [volume.id]);
  return { volume, rentalIds: idsOf(holders.get(volume.id)) };
}

function idsOf(holders: readonly { readonly wireId: number }[] = []): readonly number[] {
  return holders.map(({ wireId }) => wireId);
}

/** A volume of the asker's own, also one that is deleted and whose data is still kept. */
export async function getRecord(
  reader: Reader,
  { orgId, mode }: Asker,
  wireId: number,
): Promise<VolumeRecord> {
  const volume = isWireId(wireId) ? await findVolume(reader, orgId, mode, wireId) : null;
  if (volume === null) throw new Fault('VOLUME_NOT_FOUND');
  return recordOf(reader, volume);
}

/** The snapshots of a volume of the asker's own, newest first, one more than the limit where there are. */
export async function listOwnSnapshots(
  reader: Reader,
  { orgId, mode }: Asker,
  wireId: number,
  page: { readonly after: SnapshotId | null; readonly limit: number },
): Promise<readonly Snapshot[]> {
  const volume = isWireId(wireId) ? await findVolume(reader, orgId, mode, wireId) : null;
  if (volume === null) throw new Fault('VOLUME_NOT_FOUND');
  return listSnapshots(reader, orgId, volume.id, page);
}
