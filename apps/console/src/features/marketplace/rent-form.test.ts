import { describe, expect, test } from 'vitest';
import type { Machine } from './machine.ts';
import {
  findRentBlockers,
  parseImage,
  newDraft,
  parseRentForm,
  rentCommand,
  runwayWith,
  priceLabels,
} from './rent-form.ts';

const machine: Machine = {
  id: 'nod_1',
  status: 'node_ready',
  hardware: { cpus: [], gpus: [], storage: [], ram: [] },
  instances: [],
  location: { region: 'eu-west-1' },
  network: {},
  gpus_total: 8,
  gpus_reserved: 4,
  has_persistent_storage: false,
  supplier_id: 'platform',
  pricing: { price: { amount: 1.5, period: 'hourly', agent: 'platform' } },
  reserved: false,
  cluster_name: 'c1',
};
const whole = {
  ...newDraft,
  gpus: '2',
  image: 'ubuntu:24.04',
  ports: '8080, 8443',
  ttl: '2h',
  maxUsd: '12.50',
};

describe('parseRentForm', () => {
  test('includes only the fields that were filled in', () => {
    expect(parseRentForm(newDraft, machine)).toEqual({
      issues: {},
      gpus: 1,
      order: { cluster_name: 'c1', node_name: 'nod_1', gpu_count: 1 },
    });
    expect(parseRentForm({ ...whole, sshKeyIds: ['ssh_1'] }, machine).order).toEqual({
      cluster_name: 'c1',
      node_name: 'nod_1',
      gpu_count: 2,
      image: { name: 'ubuntu', tag: '24.04', ports: [8_080, 8_443] },
      ssh_key_ids: ['ssh_1'],
      ttl_seconds: 7_200,
      max_usd: 12.5,
    });
  });

  test('sends a limit exactly as typed', () => {
    expect(parseRentForm({ ...newDraft, maxUsd: '$1,234.56' }, machine).order.max_usd).toBe(1_234.56);
    expect(parseRentForm({ ...newDraft, maxUsd: '0.07' }, machine).order.max_usd).toBe(0.07);
  });

  test.each([
    [{ gpus: '5' }, 'gpus'],
    [{ gpus: '0' }, 'gpus'],
    [{ gpus: 'two' }, 'gpus'],
    [{ image: 'x', ports: '80 http' }, 'ports'],
    [{ image: 'x', ports: '70000' }, 'ports'],
    [{ ports: '8080' }, 'ports'],
    [{ ttl: '10s' }, 'ttl'],
    [{ ttl: 'soon' }, 'ttl'],
    [{ maxUsd: '0' }, 'maxUsd'],
    [{ maxUsd: 'much' }, 'maxUsd'],
  ] as const)('%j has an invalid %s', (fields, field) => {
    expect(Object.keys(parseRentForm({ ...newDraft, ...fields }, machine).issues)).toEqual([field]);
  });

  test('rentCommand builds the same order for the CLI', () => {
    expect(rentCommand(parseRentForm(whole, machine), whole)).toBe(
      'millrace market rent nod_1 --gpus 2 --image ubuntu:24.04 --port 8080 --port 8443 --ttl 7200s --max-usd 12.50',
    );
  });
});

test('parseImage splits the tag at the last colon, but not at the port of a registry', () => {
  expect(parseImage('ubuntu')).toEqual({ name: 'ubuntu' });
  expect(parseImage('host:5000/ubuntu')).toEqual({ name: 'host:5000/ubuntu' });
  expect(parseImage('host:5000/ubuntu:1')).toEqual({ name: 'host:5000/ubuntu', tag: '1' });
});

describe('findRentBlockers', () => {
  const standing = { mayNot: false, keys: 1, availableNanoUsd: '3000000000', mode: 'live' } as const;
  const two = parseRentForm({ ...newDraft, gpus: '2' }, machine);

  test('returns none if the balance covers exactly one hour', () => {
    expect(findRentBlockers(machine, two, standing)).toEqual([]);
    expect(findRentBlockers(machine, two, { ...standing, availableNanoUsd: null })).toEqual([]);
  });

  test('reports a balance one nano-USD short, but not in test mode', () => {
    const short = { ...standing, availableNanoUsd: '2999999999' };
    expect(findRentBlockers(machine, two, short)).toEqual([
      'One hour costs $3.00, but only $2.999999999 is available. Add money first.',
    ]);
    expect(findRentBlockers(machine, two, { ...short, mode: 'test' })).toEqual([]);
  });

  test('returns all blockers at once', () => {
    const full = { ...machine, gpus_reserved: 8 };
    const all = findRentBlockers(full, parseRentForm(newDraft, full), {
      ...standing,
      mayNot: 'Not allowed.',
      keys: 0,
    });
    expect(all).toHaveLength(4);
    expect(all[0]).toBe('Not allowed.');
  });
});

test('runwayWith returns how long the balance lasts with the new instance', () => {
  expect(runwayWith('10000000000', 3_000_000_000n, 2_000_000_000n)).toBe('2 h');
  expect(runwayWith('10000000000', 0n, 0n)).toMatch(/unlimited/);
});

test('priceLabels marks prices as live prices in test mode', () => {
  expect(Object.values(priceLabels('live')).join(' ')).not.toMatch(/live/);
  for (const label of Object.values(priceLabels('test'))) expect(label).toMatch(/live/i);
});
