import { stateTables, actionDecision, type VolumeAction } from '@millrace/contract/states';
import type { Output, Item } from '@millrace/sdk';
import { usdToNano } from '@millrace/sdk/text';

/** Status, allowed actions, mount commands and input checks of volumes. */

export type Volume = Item<'listStorageVolumes'>;
export type VolumeDetail = Output<'getStorageVolume'>;
export type Snapshot = Item<'listStorageVolumeSnapshots'>;

/** A volume costs the same every hour, attached or not. */
const HOURS_IN_30_DAYS = 720n;

export function costIn30Days({ costPerHour }: Pick<Volume, 'costPerHour'>): bigint {
  return usdToNano(costPerHour) * HOURS_IN_30_DAYS;
}

/** Whether it costs money while no rental uses it. Nothing is billed in test mode. */
export function isBilledUnused(
  volume: VolumeLifecycleFields & Pick<Volume, 'attachedRentals' | 'costPerHour'>,
): boolean {
  return volumePhase(volume) === 'active' && volume.attachedRentals.length === 0 && volume.costPerHour > 0;
}

type VolumeLifecycleFields = Pick<Volume, 'status' | 'terminatedAt' | 'startedAt'> &
  Partial<Pick<VolumeDetail, 'restoring'>>;

/** Distinguishes the phases of the API status `inactive`. */
export type Phase = 'creating' | 'restoring' | 'active' | 'frozen' | 'deleted' | 'unknown';

export function volumePhase({
  status,
  terminatedAt,
  startedAt,
  restoring = null,
}: VolumeLifecycleFields): Phase {
  if (status === 'active') return 'active';
  if (status === 'unknown') return 'unknown';
  if (terminatedAt !== null) return 'deleted';
  if (restoring !== null) return 'restoring';
  return startedAt === null ? 'creating' : 'frozen';
}

const meanings: Readonly<Record<Phase, string>> = {
  creating: 'The storage server is creating the volume. Not billed until it is ready.',
  restoring:
    'A snapshot is being restored, which takes seconds. You cannot attach the volume until then. A new volume is not billed until it is ready.',
  active: 'Ready to mount. Billed by size, attached or not, until you delete it.',
  frozen:
    'Your balance has run out, so the volume is not accessible. Its data is kept while the money held for it lasts. Add money to restore access.',
  deleted: 'No longer accessible. Its data is kept and billed until it is purged.',
  unknown: 'The storage server does not respond. The data is kept, and the volume keeps billing.',
};

export function phaseDescription(volume: VolumeLifecycleFields): string {
  return meanings[volumePhase(volume)];
}

const changingMs = 2_000;
const settledMs = 15_000;

export function volumeRefetchMs(
  volume: (VolumeLifecycleFields & { readonly growingToGb?: number | null }) | undefined,
): number | false {
  if (volume === undefined) return changingMs;
  const isChanging =
    ['creating', 'restoring'].includes(volumePhase(volume)) || (volume.growingToGb ?? null) !== null;
  return isChanging ? changingMs : settledMs;
}

/** False if the action is possible. A missing permission comes first. */
export function volumeActionDisabledReason(
  action: VolumeAction,
  volume: VolumeLifecycleFields & Pick<Volume, 'attachedRentals'>,
  deniedReason: string | false,
): string | false {
  if (deniedReason !== false) return deniedReason;
  const phase = volumePhase(volume);
  if (action === 'delete' && phase === 'deleted') return 'The volume is already deleted.';
  if (action === 'delete' && volume.attachedRentals.length > 0) {
    return 'The volume is attached to a rental. Detach it first.';
  }
  if (action === 'restore-into' && volume.attachedRentals.length > 0) {
    return 'The volume is attached to a rental. Detach it first.';
  }
  if (action === 'detach' && volume.attachedRentals.length === 0)
    return 'The volume is not attached to any rental.';
  if (actionDecision(stateTables.volume, action, volume.status) === 'allowed') return false;
  switch (phase) {
    case 'creating':
      return 'The volume is still being created. Wait until it is active.';
    case 'restoring':
      return 'A snapshot is being restored. Wait until the volume is active.';
    case 'frozen':
      return 'The volume is frozen because your balance has run out. Add money first.';
    case 'deleted':
      return 'The volume is deleted.';
    case 'unknown':
      return 'The storage server does not respond. Wait until it is reachable again.';
    case 'active':
      return 'Another operation is in progress. Wait until it has finished.';
  }
}

export function mountCommands({ vip, label }: Pick<Volume, 'vip' | 'label'>): string {
  return [
    `sudo mkdir -p /mnt/${label}`,
    `sudo mount -t nfs4 -o vers=4.1,hard,proto=tcp ${vip}:/volume /mnt/${label}`,
  ].join('\n');
}

/** Mounts the volume again after a reboot. */
export function fstabLine({ vip, label }: Pick<Volume, 'vip' | 'label'>): string {
  return `${vip}:/volume /mnt/${label} nfs4 vers=4.1,hard,proto=tcp,_netdev 0 0`;
}

export const SIZE_STEP_GB = 256;
export const MAX_SIZE_GB = 64_000 - (64_000 % SIZE_STEP_GB);

/** Validation message for a size; null if valid. */
export function sizeIssue(text: string, smallest: number): string | null {
  const sizeGb = /^\d{1,6}$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (Number.isNaN(sizeGb)) return 'Enter a number of gigabytes.';
  if (sizeGb % SIZE_STEP_GB !== 0) return `Enter a multiple of ${String(SIZE_STEP_GB)} GB.`;
  if (sizeGb < smallest) return `Enter at least ${String(smallest)} GB.`;
  return sizeGb > MAX_SIZE_GB ? `Enter at most ${String(MAX_SIZE_GB)} GB.` : null;
}

/** Validation message for a label; null if valid. */
export function labelIssue(label: string): string | null {
  return /^[A-Za-z0-9_-]{4,255}$/.test(label) ? null : 'Enter at least 4 letters, digits, _ or -.';
}

interface Offer {
  readonly region: string;
  readonly machineType: string;
}

/** Unique regions, those with bare metal first. */
export function volumeRegions(offers: readonly Offer[]): readonly string[] {
  const metal = new Set(
    offers.filter(({ machineType }) => machineType === 'bare-metal').map(({ region }) => region),
  );
  const others = offers.map(({ region }) => region).filter((region) => !metal.has(region));
  return [...[...metal].toSorted(), ...[...new Set(others)].toSorted()];
}
