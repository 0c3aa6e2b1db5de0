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
  creating: { ...active, status: 'inactive', startedAt: null },
  restoring: {
    ...active,
    status: 'inactive',
    restoring: { snapshotId: 'snp_1', storageVolumeId: 7, deadline: then },
  },
  active,
  frozen: { ...active, status: 'inactive' },
  deleted: { ...active, status: 'inactive', terminatedAt: then },
  unknown: { ...active, status: 'unknown' },
} as const;

describe('volume status', () => {
  it.each(Object.keys(phases) as (keyof typeof phases)[])('distinguishes %s and explains it', (phase) => {
    const volume = { ...phases[phase], attachedRentals: [] };
    expect(volumePhase(volume)).toBe(phase);
    expect(phaseDescription(volume)).toMatch(/\.$/);
  });

  it('explains every action that the state table rejects', () => {
    for (const [phase, volume] of Object.entries(phases)) {
      for (const action of Object.keys(stateTables.volume.actions) as VolumeAction[]) {
        const decision = stateTables.volume.actions[action][volume.status];
        const why = volumeActionDisabledReason(action, { ...volume, attachedRentals: [7] }, false);
        if (decision !== 'allowed') expect(why, `${action} while ${phase}`).toMatch(/\.$/);
      }
    }
  });

  it('blocks deleting an attached volume, and detaching a detached one', () => {
    expect(volumeActionDisabledReason('delete', { ...active, attachedRentals: [7] }, false)).toContain(
      'Detach it first',
    );
    expect(volumeActionDisabledReason('delete', { ...active, attachedRentals: [] }, false)).toBe(false);
    expect(volumeActionDisabledReason('restore-into', { ...active, attachedRentals: [7] }, false)).toContain(
      'Detach it first',
    );
    expect(volumeActionDisabledReason('restore-into', { ...active, attachedRentals: [] }, false)).toBe(false);
    expect(volumeActionDisabledReason('detach', { ...active, attachedRentals: [] }, false)).toContain(
      'not attached',
    );
    expect(volumeActionDisabledReason('delete', { ...phases.deleted, attachedRentals: [] }, false)).toContain(
      'already',
    );
    expect(volumeActionDisabledReason('attach', { ...active, attachedRentals: [] }, 'Ask an owner.')).toBe(
      'Ask an owner.',
    );
  });

  it('volumeRefetchMs polls often while a volume is created or grows', () => {
    expect(volumeRefetchMs(phases.creating)).toBe(2_000);
    expect(volumeRefetchMs(phases.restoring)).toBe(2_000);
    expect(volumeRefetchMs({ ...active, growingToGb: 512 })).toBe(2_000);
    expect(volumeRefetchMs({ ...active, growingToGb: null })).toBe(15_000);
  });
});

describe('restores in a volume list', () => {
  const detail = (id: number) => ({ id, restoring: id === 2 ? phases.restoring.restoring : null });

  it('are read for inactive volumes only, and for at most 20', () => {
    const list = Object.values(phases).map((phase, id) => ({ ...phase, id }));
    expect(volumesToCheck(list)).toEqual([0, 1, 3]);
    expect(volumesToCheck(Array.from({ length: 30 }, (_, id) => ({ ...phases.frozen, id })))).toHaveLength(
      20,
    );
  });

  it('are read from the details, and unreadable volumes are omitted', async () => {
    const get = async ({ storageVolumeId }: { readonly storageVolumeId: number }) => {
      if (storageVolumeId === 3) throw new Error('The volume was deleted.');
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

describe('mountCommands and fstabLine', () => {
  it('return commands to mount now and after a reboot', () => {
    const volume = { vip: '10.8.0.10', label: 'datasets' };
    expect(mountCommands(volume)).toBe(
      'sudo mkdir -p /mnt/datasets\nsudo mount -t nfs4 -o vers=4.1,hard,proto=tcp 10.8.0.10:/volume /mnt/datasets',
    );
    expect(fstabLine(volume)).toContain('10.8.0.10:/volume /mnt/datasets nfs4');
  });
});

describe('volume form', () => {
  it.each([
    ['256', 256, null],
    ['64000', 256, null],
    ['300', 256, /multiple of 256/],
    ['256', 512, /at least 512/],
    ['64256', 256, /at most 64000/],
    ['much', 256, /a number/],
    ['', 256, /a number/],
  ])('checks a size of %s GB with a minimum of %d', (text, smallest, problem) => {
    const issue = sizeIssue(text, smallest);
    if (problem === null) expect(issue).toBeNull();
    else expect(issue).toMatch(problem);
  });

  it('lists regions with bare metal first', () => {
    const offer = (region: string, machineType: string) => ({ region, machineType });
    expect(
      volumeRegions([offer('a', 'virtual-machine'), offer('c', 'bare-metal'), offer('c', 'virtual-machine')]),
    ).toEqual(['c', 'a']);
  });

  it('accepts only labels that are safe in a path', () => {
    expect(labelIssue('data-1')).toBeNull();
    for (const wrong of ['abc', 'a b c d', '../etc', 'ünicode']) expect(labelIssue(wrong)).not.toBeNull();
  });
});

describe('attachChoices', () => {
  const metal = {
    id: 1,
    name: 'train',
    label: null,
    region: 'us-central-1',
    status: 'Running',
    rentalType: 'bare-metal',
    supportsFeature: { attachedStorage: true },
  } as const;
  it('lists running bare metal in the region first, and others last with the reason', () => {
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
      ['train (already attached)', true],
    ]);
  });
});
