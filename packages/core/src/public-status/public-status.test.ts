import { describe, expect, it } from 'vitest';
import type { HealthReadings, ProcessHealth } from '../operator-health/index.ts';
import { findIncidents } from './incidents.ts';
import { publicStatus, type StatusFacts } from './public-status.ts';

const process = (name: string, fields: Partial<ProcessHealth> = {}): ProcessHealth => ({
  ...{ name, status: 'ready', version: '1.0.0', commit: null, tookMs: 3, failing: [] },
  passing: ['postgres', 'nats', 'valkey'],
  ...fields,
});

const failing = (check: string, required = true) => ({
  ...({ status: 'not-ready', passing: [] } as const),
  failing: [{ check, required, detail: 'refused' }],
});
const unreachable = { status: 'unreachable', passing: [] } as const;

const fleet: NonNullable<HealthReadings['fleet']> = {
  ...{ clusters: 2, nodes: 9, nodesFaulty: 0, storageNodes: 1 },
  ...{ silentClusters: [], silentStorageNodes: [], enginesDown: [], hasModelWithoutEngine: false },
  ...{ regions: [], storageRegions: [] },
};

const fine: HealthReadings = {
  processes: [process('api'), process('worker'), process('gateway')],
  queues: { outboxWaiting: 3, outboxOldestSeconds: 1, outboxParked: 0, webhooksOldestSeconds: 0 },
  money: { isClean: true, lastCleanSeconds: 600 },
  fleet,
  loops: [],
};

const titlesOf = (changes: Partial<HealthReadings>): readonly string[] =>
  findIncidents({ ...fine, ...changes }).map(({ title }) => title);

describe('findIncidents', () => {
  it.each<[string, Partial<HealthReadings>, readonly string[]]>([
    ['nothing in a healthy installation', {}, []],
    [
      'an api without PostgreSQL',
      { processes: [process('api', failing('postgres')), process('worker'), process('gateway')] },
      ['The API and the console are not available'],
    ],
    [
      'workers and gateways without NATS',
      {
        processes: [process('api'), process('worker', failing('nats')), process('gateway', failing('nats'))],
      },
      ['Inference is not available', 'Events and webhooks are late'],
    ],
    [
      'gateways without Valkey',
      { processes: [process('api'), process('worker'), process('gateway', failing('pot valkey'))] },
      ['Inference is not available'],
    ],
    [
      'a lease server that only workers cannot reach',
      { processes: [process('api'), process('worker', failing('pot valkey', false)), process('gateway')] },
      ['Inference may stop for some organisations'],
    ],
    [
      'workers without Restate',
      { processes: [process('api'), process('worker', failing('restate registration', false))] },
      ['Machines start and end slowly'],
    ],
    [
      'no worker',
      { processes: [process('api'), process('worker', unreachable)] },
      ['Changes are processed late'],
    ],
    [
      'no gateway',
      { processes: [process('api'), process('gateway', unreachable)] },
      ['Inference is not available'],
    ],
    [
      'a restored database',
      { processes: [process('api'), process('worker', failing('newest database'))] },
      ['Changes are paused while records are checked'],
    ],
    ['wrong money', { money: { isClean: false, lastCleanSeconds: 60 } }, ['Some charges are being checked']],
    [
      'a late outbox',
      { queues: { outboxWaiting: 9, outboxOldestSeconds: 90, outboxParked: 0, webhooksOldestSeconds: 0 } },
      ['Changes are processed late'],
    ],
    [
      'late webhooks',
      { queues: { outboxWaiting: 0, outboxOldestSeconds: 0, outboxParked: 0, webhooksOldestSeconds: 400 } },
      ['Events and webhooks are late'],
    ],
    [
      'a model without an engine',
      { fleet: { ...fleet, enginesDown: ['tiny'], hasModelWithoutEngine: true } },
      ['Some models do not respond'],
    ],
    [
      'silent clusters and storage nodes by region',
      {
        fleet: {
          ...fleet,
          regions: [
            { region: 'north', total: 2, silent: 1 },
            { region: 'south', total: 1, silent: 1 },
            { region: 'west', total: 1, silent: 0 },
          ],
          storageRegions: [{ region: 'south', total: 1, silent: 1 }],
        },
      },
      [
        'Some rentals in north cannot be changed',
        'Rentals in south cannot be changed',
        'Volumes in south might not be available',
      ],
    ],
  ])('finds the incidents of %s', (_, changes, expected) => {
    expect(titlesOf(changes)).toEqual(expected);
  });

  it.each<[string, Partial<HealthReadings>]>([
    [
      'one of two gateways is lost',
      { processes: [process('api'), process('gateway 1', unreachable), process('gateway 2')] },
    ],
    [
      'one of two workers has a wrong clock',
      { processes: [process('api'), process('worker 1', failing('clock')), process('worker 2')] },
    ],
    [
      'apis do not limit rates',
      { processes: [process('api', { ...failing('valkey', false), status: 'degraded' })] },
    ],
    ['an engine of a model is down and others work', { fleet: { ...fleet, enginesDown: ['tiny'] } }],
    [
      'nodes are offline, and items fail in a loop',
      {
        fleet: { ...fleet, nodesFaulty: 2 },
        loops: [{ loop: 'post meters', items: 2, failingSeconds: 900 }],
      },
    ],
    ['the last audit is late', { money: { isClean: true, lastCleanSeconds: 90_000 } }],
  ])('finds none if %s, because tenants cannot notice it', (_, changes) => {
    expect(titlesOf(changes)).toEqual([]);
  });

  it('finds the loss of the last of several gateways, although another has another fault', () => {
    const processes = [
      process('api'),
      process('gateway 1', unreachable),
      process('gateway 2', failing('nats')),
    ];
    expect(titlesOf({ processes })).toEqual(['Inference is not available']);
  });
});

const at = new Date('2026-05-01T10:00:00Z');
const facts: StatusFacts = {
  ...{ incidents: [], regions: ['north', 'south'], maintenance: [], notice: null },
  ...{ checkedAt: at, completeCheckAt: at, isOld: false },
};
const south = { region: 'south', total: 1, silent: 1 };
const incidents = findIncidents({ ...fine, fleet: { ...fleet, regions: [south] } }).map((each) => ({
  ...each,
  since: at,
}));
const stateOf = (changes: Partial<StatusFacts>): Record<string, string> => {
  const { state, components } = publicStatus({ ...facts, ...changes });
  return Object.fromEntries([
    ['all', state],
    ...components.map((each) => [`${each.component} ${each.region ?? ''}`.trim(), each.state]),
  ]) as Record<string, string>;
};

describe('publicStatus', () => {
  it('shows each component as operational without an incident', () => {
    expect(stateOf({})).toEqual({
      ...{ all: 'operational', api: 'operational', inference: 'operational', billing: 'operational' },
      ...{ 'rentals north': 'operational', 'rentals south': 'operational', volumes: 'operational' },
    });
    expect(stateOf({ regions: [] })).toMatchObject({ rentals: 'operational' });
  });

  it('shows an incident of a region only at that region', () => {
    const shown = stateOf({ incidents });
    expect(shown).toMatchObject({ all: 'outage', 'rentals north': 'operational', 'rentals south': 'outage' });
  });

  it('shows maintenance in progress in place of machines that do not respond', () => {
    const maintenance = [
      { regions: ['south'], startsAt: new Date(at.getTime() - 1), endsAt: new Date(at.getTime() + 1) },
    ];
    const shown = publicStatus({ ...facts, incidents, maintenance });
    expect(shown.incidents).toEqual([]);
    expect(shown.state).toBe('maintenance');
    expect(shown.maintenance).toEqual([expect.objectContaining({ regions: ['south'], inProgress: true })]);
    expect(stateOf({ incidents, maintenance })).toMatchObject({ 'rentals south': 'maintenance' });
  });

  it('shows volumes that are not available although machines of their region are in maintenance', () => {
    const maintenance = [
      { regions: ['south'], startsAt: new Date(at.getTime() - 1), endsAt: new Date(at.getTime() + 1) },
    ];
    const found = findIncidents({ ...fine, fleet: { ...fleet, storageRegions: [south] } });
    const ofVolumes = found.map((each) => ({ ...each, since: at }));
    const shown = publicStatus({ ...facts, incidents: ofVolumes, maintenance });
    expect(shown.incidents.map(({ title }) => title)).toEqual(['Volumes in south might not be available']);
    expect(shown.components).toContainEqual(
      expect.objectContaining({ component: 'volumes', state: 'outage' }),
    );
  });

  it('shows unknown before the first check and after checks have stopped', () => {
    expect(stateOf({ checkedAt: null, completeCheckAt: null, isOld: true })).toMatchObject({
      all: 'unknown',
      api: 'unknown',
    });
    expect(stateOf({ isOld: true, incidents })).toMatchObject({ all: 'unknown', 'rentals south': 'unknown' });
  });
});
