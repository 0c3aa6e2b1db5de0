import { stateTables, type VolumeAction } from '@millrace/contract/states';
import { describe, expect, it } from 'vitest';
import { attachChoices } from './attach.ts';
import { readRestores, volumesToCheck } from './restore-status.ts';
import {
  fstabLine,
  labelIssue,
  volumeRefetchMs,
  phaseDescription,
  mountCommands,
  volumePhase,
  sizeIssue,
  volumeRegions,
  volumeActionDisabledReason,
  type VolumeDetail,
} from './volume.ts';

const then = '2026-11-16T10:00:00.000Z';
const active = { status: 'active', startedAt: then, terminatedAt: null, attachedRentals: [] } as const;
const phases = {
  'being made': { ...active, status: 'inactive', startedAt: null },
  'being restored': {
    ...active,
    status: 'inactive',
    restoring: { snapshotId: 'snp_1', storageVolumeId: 7, deadline: then },
  },
  active,
  frozen: { ...active, status: 'inactive' },
  deleted: { ...active, status: 'inactive', terminatedAt: then },
  unknown: { ...active, status: 'unknown' },
} as const;

describe('the state of a volume', () => {
  it.each(Object.keys(phases) as (keyof typeof phases)[])('%s is told apart, with what it means', (phase) => {
    const volume = { ...phases[phase], attachedRentals: [] };
    expect(volumePhase(volume)).toBe(phase);
    expect(phaseDescription(volume)).toMatch(/\.$/);
  });

  it('says of every action that the table refuses why', () => {
    for (const [phase, volume] of Object.entries(phases)) {
      for (const action of Object.keys(stateTables.volume.actions) as VolumeAction[]) {
        const decision = stateTables.volume.actions[action][volume.status];
        const why = volumeActionDisabledReason(action, { ...volume, attachedRentals: [7] }, false);
        if (decision !== 'allowed') expect(why, `${action} while ${phase}`).toMatch(/\.$/);
      }
    }
  });

  it('keeps one that is attached from being deleted, and one that is not from being detached', () => {
    expect(volumeActionDisabledReason('delete', { ...active, attachedRentals: [7] }, false)).toContain(
      'Detach it first',
    );
    expect(volumeActionDisabledReason('delete', { ...active, attachedRentals: [] }, false)).toBe(false);
    expect(volumeActionDisabledReason('restore-into', { ...active, attachedRentals: [7] }, false)).toContain(
      'Detach it first',
    );
    expect(volumeActionDisabledReason('restore-into', { ...active, attachedRentals: [] }, false)).toBe(false);
    expect(volumeActionDisabledReason('detach', { ...active, attachedRentals: [] }, false)).toContain(
      'no rental',
    );
    expect(volumeActionDisabledReason('delete', { ...phases.deleted, attachedRentals: [] }, false)).toContain(
      'already',
    );
    expect(volumeActionDisabledReason('attach', { ...active, attachedRentals: [] }, 'Ask an owner.')).toBe(
      'Ask an owner.',
    );
  });

  it('is looked at often while it is made or grows', () => {
    expect(volumeRefetchMs(phases['being made'])).toBe(2_000);
    expect(volumeRefetchMs(phases['being restored'])).toBe(2_000);
    expect(volumeRefetchMs({ ...active, growingToGb: 512 })).toBe(2_000);
    expect(volumeRefetchMs({ ...active, growingToGb: null })).toBe(15_000);
  });
});

describe('restores of volumes in a list', () => {
  const detail = (id: number) => ({ id, restoring: id === 2 ? phases['being restored'].restoring : null });

  it('are looked up for inactive volumes only, and for at most 20 of them', () => {
    const list = Object.values(phases).map((phase, id) => ({ ...phase, id }));
    expect(volumesToCheck(list)).toEqual([0, 1, 3]);
    expect(volumesToCheck(Array.from({ length: 30 }, (_, id) => ({ ...phases.frozen, id })))).toHaveLength(
      20,
    );
  });

  it('are read from the details, and a volume that cannot be read is left out', async () => {
    const get = async ({ storageVolumeId }: { readonly storageVolumeId: number }) => {
      if (storageVolumeId === 3) throw new Error('It was deleted a moment ago.');
      return detail(storageVolumeId) as VolumeDetail;
    };
    const client = { volumes: { get } } as Parameters<typeof readRestores>[0];
    const found = await readRestores(client, [1, 2, 3], new AbortController().signal);
    expect([...found]).toEqual([
      [1, null],
      [2, detail(2).restoring],
    ]);
  });
});

describe('how to mount it', () => {
  it('is two commands to copy, and a line for after a reboot', () => {
    const volume = { vip: '10.8.0.10', label: 'datasets' };
    expect(mountCommands(volume)).toBe(
      'sudo mkdir -p /mnt/datasets\nsudo mount -t nfs4 -o vers=4.1,hard,proto=tcp 10.8.0.10:/volume /mnt/datasets',
    );
    expect(fstabLine(volume)).toContain('10.8.0.10:/volume /mnt/datasets nfs4');
  });
});

describe('an order', () => {
  it.each([
    ['256', 256, null],
    ['64000', 256, null],
    ['300', 256, /steps of 256/],
    ['256', 512, /At least 512/],
    ['64256', 256, /At most 64000/],
    ['much', 256, /a number/],
    ['', 256, /a number/],
  ])('of %s GB where at least %d are needed', (text, smallest, problem) => {
    const issue = sizeIssue(text, smallest);
    if (problem === null) expect(issue).toBeNull();
    else expect(issue).toMatch(problem);
  });

  it('is made where bare metal is first', () => {
    const offer = (region: string, machineType: string) => ({ region, machineType });
    expect(
      volumeRegions([offer('a', 'virtual-machine'), offer('c', 'bare-metal'), offer('c', 'virtual-machine')]),
    ).toEqual(['c', 'a']);
  });

  it('has a label that a path can have', () => {
    expect(labelIssue('data-1')).toBeNull();
    for (const wrong of ['abc', 'a b c d', '../etc', 'ünicode']) expect(labelIssue(wrong)).not.toBeNull();
  });
});

describe('rentals to attach it to', () => {
  const metal = {
    id: 1,
    name: 'train',
    label: null,
    region: 'us-central-1',
    status: 'Running',
    rentalType: 'bare-metal',
    supportsFeature: { attachedStorage: true },
  } as const;
  it('are bare metal that runs in its region; the others say why not and stand last', () => {
    const rentals = [
      { ...metal, id: 2, rentalType: 'virtual-machine' },
      { ...metal, id: 3, region: 'eu-west-3' },
      { ...metal, id: 4, status: 'Pending' },
      { ...metal, id: 5, supportsFeature: { attachedStorage: false } },
      { ...metal, id: 6 },
      metal,
    ] as const;
    const choices = attachChoices(rentals, { region: 'us-central-1', attachedRentals: [6] });
    expect(choices[0]).toEqual({ value: '1', label: 'train', disabled: false });
    expect(choices.slice(1).map(({ label, disabled }) => [label, disabled])).toEqual([
      ['train (virtual machines cannot mount volumes)', true],
      ['train (is in eu-west-3)', true],
      ['train (is pending)', true],
      ['train (runs under a contract)', true],
      ['train (has it already)', true],
    ]);
  });
});
