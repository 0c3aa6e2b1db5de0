import { stateTables, actionDecision, type VolumeAction } from '@millrace/contract/states';
import type { Output, Item } from '@millrace/sdk';

/** Volumes as the pages show them: words, what can be done, how to mount. */

export type Volume = Item<'listStorageVolumes'>;
export type VolumeDetail = Output<'getStorageVolume'>;
export type Snapshot = Item<'listStorageVolumeSnapshots'>;

type VolumeLifecycleFields = Pick<Volume, 'status' | 'terminatedAt' | 'startedAt'> &
  Partial<Pick<VolumeDetail, 'restoring'>>;

/** The phases that the one status `inactive` has, told apart. */
export type Phase = 'being made' | 'being restored' | 'active' | 'frozen' | 'deleted' | 'unknown';

export function volumePhase({
  status,
  terminatedAt,
  startedAt,
  restoring = null,
}: VolumeLifecycleFields): Phase {
  if (status === 'active') return 'active';
  if (status === 'unknown') return 'unknown';
  if (terminatedAt !== null) return 'deleted';
  if (restoring !== null) return 'being restored';
  return startedAt === null ? 'being made' : 'frozen';
}

const meanings: Readonly<Record<Phase, string>> = {
  'being made': 'The storage server makes it. It is not billed before it can be used.',
  'being restored':
    'A snapshot is restored into it, which takes seconds. Nothing can be attached to it until then. A new volume is not billed before.',
  active: 'It can be mounted. It is billed by its size, attached or not, until it is deleted.',
  frozen:
    'The money has ended, so nobody can use it. Its data is kept for as long as what was set aside pays; top up, and it thaws.',
  deleted: 'Nobody can use it any more. Its data is kept, and paid for, until it is purged.',
  unknown: 'The storage server does not answer. Its data is there, and it costs on.',
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
    ['being made', 'being restored'].includes(volumePhase(volume)) || (volume.growingToGb ?? null) !== null;
  return isChanging ? changingMs : settledMs;
}

/** False where it can be done; otherwise why not. The role counts first. */
export function volumeActionDisabledReason(
  action: VolumeAction,
  volume: VolumeLifecycleFields & Pick<Volume, 'attachedRentals'>,
  deniedReason: string | false,
): string | false {
  if (deniedReason !== false) return deniedReason;
  const phase = volumePhase(volume);
  if (action === 'delete' && phase === 'deleted') return 'It is deleted already.';
  if (action === 'delete' && volume.attachedRentals.length > 0) {
    return 'It is attached to a rental. Detach it first.';
  }
  if (action === 'restore-into' && volume.attachedRentals.length > 0) {
    return 'It is attached to a rental. Detach it first.';
  }
  if (action === 'detach' && volume.attachedRentals.length === 0) return 'It is attached to no rental.';
  if (actionDecision(stateTables.volume, action, volume.status) === 'allowed') return false;
  switch (phase) {
    case 'being made':
      return 'It is still being made. Wait until it is active.';
    case 'being restored':
      return 'A snapshot is being restored into it. Wait until it is active.';
    case 'frozen':
      return 'It is frozen for want of money. Top up first.';
    case 'deleted':
      return 'It is deleted.';
    case 'unknown':
      return 'Its storage server does not answer. Wait until it is back.';
    case 'active':
      return 'Something else is still being done with it. Wait until that is done.';
  }
}

/** How a machine that has it mounts it. */
export function mountCommands({ vip, label }: Pick<Volume, 'vip' | 'label'>): string {
  return [
    `sudo mkdir -p /mnt/${label}`,
    `sudo mount -t nfs4 -o vers=4.1,hard,proto=tcp ${vip}:/volume /mnt/${label}`,
  ].join('\n');
}

/** For `/etc/fstab`, so that it is there again after a reboot. */
export function fstabLine({ vip, label }: Pick<Volume, 'vip' | 'label'>): string {
  return `${vip}:/volume /mnt/${label} nfs4 vers=4.1,hard,proto=tcp,_netdev 0 0`;
}

export const SIZE_STEP_GB = 256;
export const MAX_SIZE_GB = 64_000 - (64_000 % SIZE_STEP_GB);

/** What is wrong with a size; null when it can be ordered. */
export function sizeIssue(text: string, smallest: number): string | null {
  const sizeGb = /^\d{1,6}$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (Number.isNaN(sizeGb)) return 'Write a number of gigabytes.';
  if (sizeGb % SIZE_STEP_GB !== 0) return `Sizes go in steps of ${String(SIZE_STEP_GB)} GB.`;
  if (sizeGb < smallest) return `At least ${String(smallest)} GB.`;
  return sizeGb > MAX_SIZE_GB ? `At most ${String(MAX_SIZE_GB)} GB.` : null;
}

/** What is wrong with a label; null when it can be one. */
export function labelIssue(label: string): string | null {
  return /^[A-Za-z0-9_-]{4,255}$/.test(label) ? null : 'Letters, digits, _ and -, at least 4 of them.';
}

interface Offer {
  readonly region: string;
  readonly machineType: string;
}

/** Each region once, those that rent bare metal first. */
export function volumeRegions(offers: readonly Offer[]): readonly string[] {
  const metal = new Set(
    offers.filter(({ machineType }) => machineType === 'bare-metal').map(({ region }) => region),
  );
  const others = offers.map(({ region }) => region).filter((region) => !metal.has(region));
  return [...[...metal].toSorted(), ...[...new Set(others)].toSorted()];
}
