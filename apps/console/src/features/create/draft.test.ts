import { describe, expect, it } from 'vitest';
import { createCommand, quoteShellWord } from './command.ts';
import {
  idleRuleIssues,
  idleRuleDisabledReason,
  newDraft,
  parsePorts,
  parseDraft,
  parseTagsField,
  type Draft,
} from './draft.ts';
import type { RentalSpec } from '../catalog/selection.ts';

const machine: RentalSpec = {
  gpu: 'h100',
  type: 'virtual-machine',
  count: 2,
  region: 'us-central-1',
  network: 'ethernet',
  days: null,
};
const metal: RentalSpec = { ...machine, type: 'bare-metal', count: 16, network: 'infiniband' };
const plain = newDraft('calm-brook-42');
const read = (change: Partial<Draft>, spec = machine) => parseDraft({ ...plain, ...change }, spec);
const commandOf = (change: Partial<Draft>, spec = machine, label: string | null = null) =>
  createCommand(read(change, spec).order, spec, label);

describe('parseDraft and createCommand', () => {
  it('omit everything that was not set, except monitoring, which is on', () => {
    expect(read({})).toEqual({
      issues: {},
      order: {
        type: 'virtual-machine',
        body: {
          name: 'calm-brook-42',
          gpuCount: 2,
          gpuType: 'h100',
          networkType: 'ethernet',
          region: 'us-central-1',
          monitoringEnabled: true,
        },
      },
      ttlSeconds: null,
      newVolumeGb: null,
      maxNanoUsd: null,
    });
    expect(commandOf({})).toBe(
      'millrace rental create --gpu h100 --count 2 --region us-central-1 --network ethernet --name calm-brook-42 --monitoring',
    );
  });

  it('include everything that was set', () => {
    const all: Partial<Draft> = {
      sshKeyIds: ['ssh_1', 'ssh_2'],
      image: ' ubuntu/24.04 ',
      ttl: '8h',
      maxUsd: '$12.50',
      idleAfter: '30m',
      idleAction: 'terminate',
      tags: 'team=vision\nnote=a b',
      ports: '8080, 8888 8080',
      userData: '#!/bin/sh\ntrue\n',
      monitoring: true,
    };
    expect(read(all)).toMatchObject({
      issues: {},
      order: {
        body: {
          sshKeyIds: ['ssh_1', 'ssh_2'],
          image: 'ubuntu/24.04',
          ttlSeconds: 28_800,
          maxUsd: 12.5,
          idle: { afterSeconds: 1_800, action: 'terminate' },
          tags: { team: 'vision', note: 'a b' },
          customPorts: [8080, 8888],
          userData: '#!/bin/sh\ntrue\n',
          monitoringEnabled: true,
        },
      },
      ttlSeconds: 28_800,
      maxNanoUsd: 12_500_000_000n,
    });
    expect(commandOf(all)).toBe(
      "millrace rental create --gpu h100 --count 2 --region us-central-1 --network ethernet --name calm-brook-42 --ssh-key ssh_1 --ssh-key ssh_2 --image ubuntu/24.04 --port 8080 --port 8888 --ttl 8h --max-usd 12.5 --idle-after 30min --idle-terminate --user-data user-data.sh --tag team=vision --tag 'note=a b' --monitoring",
    );
  });

  it('include nodes, CUDA and a volume for bare metal, and no ports', () => {
    const fresh = {
      cuda: 'cuda12.8',
      volume: 'new',
      volumeLabel: 'train-data',
      volumeGb: '512',
      ports: 'x',
    } as const;
    expect(read(fresh, metal)).toMatchObject({
      issues: {},
      order: {
        type: 'bare-metal',
        body: {
          gpuCount: 16,
          cudaVersion: 'cuda12.8',
          storageVolume: { isNew: true, label: 'train-data', sizeInGb: 512 },
        },
      },
      newVolumeGb: 512,
    });
    expect(commandOf(fresh, metal)).toContain('--bare-metal');
    expect(commandOf(fresh, metal)).toContain('--cuda cuda12.8 --new-volume train-data --storage-gb 512');
    const old = { volume: 'existing', volumeId: 7 } as const;
    expect(read(old, metal).order.body).toMatchObject({ storageVolume: { isNew: false, id: 7 } });
    expect(commandOf(old, metal, 'mine')).toContain('--volume mine');
    expect(read(old, metal).newVolumeGb).toBeNull();
    expect(read(old, metal).order.body).not.toHaveProperty('monitoringEnabled');
    expect(read({ monitoring: false }).order.body).not.toHaveProperty('monitoringEnabled');
    // Chosen before the machine type was changed back.
    expect(read(old).order.body).not.toHaveProperty('storageVolume');
  });

  it('include the term and what follows it', () => {
    const month = { ...machine, days: 30 };
    expect(read({ convert: false }, month).order.body).toMatchObject({
      termType: 'reserved',
      termPeriodDays: 30,
      convertToOnDemandOnExpiry: false,
    });
    expect(commandOf({ convert: false }, month)).toContain('--days 30 --no-convert');
    expect(commandOf({}, month)).not.toContain('--no-convert');
  });
});

describe('draft validation', () => {
  it.each<[keyof Draft, Partial<Draft>]>([
    ['name', { name: '  ' }],
    ['name', { name: 'x'.repeat(256) }],
    ['ttl', { ttl: 'soon' }],
    ['ttl', { ttl: '30s' }],
    ['maxUsd', { maxUsd: 'much' }],
    ['maxUsd', { maxUsd: '0' }],
    ['maxUsd', { maxUsd: '-5' }],
    ['idleAfter', { idleAfter: '1m' }],
    ['tags', { tags: 'team' }],
    ['tags', { tags: 'a=1\na=2' }],
    ['tags', { tags: `a=${'x'.repeat(256)}` }],
    ['ports', { ports: '0' }],
    ['ports', { ports: '65536' }],
    ['ports', { ports: Array.from({ length: 21 }, (_, index) => index + 1).join(' ') }],
    ['userData', { userData: 'apt install x' }],
    ['userData', { userData: `#!${'x'.repeat(65_536)}` }],
  ])('reports invalid input at its field: %s %j', (field, change) => {
    expect(Object.keys(read(change).issues)).toEqual([field]);
  });

  it.each<[keyof Draft, Partial<Draft>]>([
    ['volumeId', { volume: 'existing' }],
    ['volumeLabel', { volume: 'new', volumeLabel: 'a b' }],
    ['volumeGb', { volume: 'new', volumeGb: '255' }],
    ['volumeGb', { volume: 'new', volumeGb: '64001' }],
  ])('reports invalid volume input at its field: %s %j', (field, change) => {
    expect(Object.keys(read(change, metal).issues)).toEqual([field]);
    expect(read(change).issues).toEqual({});
  });

  it('rejects an idle rule that the service does not accept, and says why', () => {
    expect(idleRuleDisabledReason(machine, true)).toBeNull();
    expect(idleRuleDisabledReason(machine, undefined)).toBeNull();
    expect(idleRuleDisabledReason(machine, false)).toContain('do not report how busy their GPUs are');
    expect(idleRuleDisabledReason(metal, true)).toContain('bare metal');
    expect(idleRuleIssues({ idleAfter: '30m' }, null)).toEqual({});
    expect(idleRuleIssues({ idleAfter: ' ' }, 'No.')).toEqual({});
    expect(Object.keys(idleRuleIssues({ idleAfter: '30m' }, 'No.'))).toEqual(['idleAfter']);
  });

  it('splits tags by line, and ports by any separator', () => {
    expect(parseTagsField(' a=1 \n\n b = x=y ').value).toEqual({ a: '1', b: 'x=y' });
    expect(parsePorts('').value).toEqual([]);
    expect(parsePorts('1,2\n3').value).toEqual([1, 2, 3]);
  });
});

describe('quoteShellWord', () => {
  it('produces one shell word from any text', () => {
    expect(quoteShellWord('calm-brook-42')).toBe('calm-brook-42');
    expect(quoteShellWord('a b')).toBe("'a b'");
    expect(quoteShellWord("it's $(rm)")).toBe(String.raw`'it'\''s $(rm)'`);
    expect(quoteShellWord('')).toBe("''");
  });
});
