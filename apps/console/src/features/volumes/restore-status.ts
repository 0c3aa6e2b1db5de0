import type { Millrace } from '@millrace/sdk';
import type { Volume, VolumeDetail } from './volume.ts';

/** The restores of volumes in a list. The list says only that a volume is inactive; its details say whether a restore is why. */

export type RestoreStatus = VolumeDetail['restoring'];

/** An organisation without money may have hundreds of frozen volumes; their details are not all read again and again. */
const MAX_DETAIL_READS = 20;

export function volumesToCheck(
  volumes: readonly Pick<Volume, 'id' | 'status' | 'terminatedAt'>[],
): readonly number[] {
  return volumes
    .filter(({ status, terminatedAt }) => status === 'inactive' && terminatedAt === null)
    .map(({ id }) => id)
    .slice(0, MAX_DETAIL_READS);
}

/** By volume. A volume whose details cannot be read is left out. */
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
