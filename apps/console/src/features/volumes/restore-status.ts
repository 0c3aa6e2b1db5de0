import type { Millrace } from '@millrace/sdk';
import type { Volume, VolumeDetail } from './volume.ts';

/** Finds restores for a volume list, which shows such volumes only as inactive. */

export type RestoreStatus = VolumeDetail['restoring'];

/** Bounds the detail requests: an organisation without money may have hundreds of frozen volumes. */
const MAX_DETAIL_READS = 20;

export function volumesToCheck(
  volumes: readonly Pick<Volume, 'id' | 'status' | 'terminatedAt'>[],
): readonly number[] {
  return volumes
    .filter(({ status, terminatedAt }) => status === 'inactive' && terminatedAt === null)
    .map(({ id }) => id)
    .slice(0, MAX_DETAIL_READS);
}

/** Restores by volume; volumes whose details cannot be read are omitted. */
export async function readRestores(
  client: { readonly volumes: Pick<Millrace['volumes'], 'get'> },
  storageVolumeIds: readonly number[],
  signal: AbortSignal,
): Promise<ReadonlyMap<number, RestoreStatus>> {
  const details = await Promise.allSettled(
    storageVolumeIds.map((storageVolumeId) => client.volumes.get({ storageVolumeId }, { signal })),
  );
  return new Map(
    details.flatMap((detail): [number, RestoreStatus][] =>
      detail.status === 'fulfilled' ? [[detail.value.id, detail.value.restoring]] : [],
    ),
  );
}
