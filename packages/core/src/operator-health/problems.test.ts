import { describe, expect, it } from 'vitest';
import { findProblems, dependencyReadings, type HealthReadings } from './problems.ts';
import type { ProcessHealth } from './process-probe.ts';

const process = (name: string, fields: Partial<ProcessHealth> = {}): ProcessHealth => ({
  ...{ name, status: 'ready', version: '1.0.0', commit: null, tookMs: 3, failing: [] },
  passing: ['postgres', 'nats', 'valkey', 'clock'],
  ...fields,
});

const fine: HealthReadings = {
  processes: [process('api'), process('worker', { passing: ['postgres', 'nats', 'restate registration'] })],
  queues: { outboxWaiting: 3, outboxOldestSeconds: 1, outboxParked: 0, webhooksOldestSeconds: 0 },
  money: { isClean: true, lastCleanSeconds: 600 },
  fleet: {
    ...{ clusters: 2, nodes: 9, nodesFaulty: 0, storageNodes: 1 },
    ...{ silentClusters: [], silentStorageNodes: [], enginesDown: [], hasModelWithoutEngine: false },
    ...{ regions: [], storageRegions: [] },
  },
  loops: [],
};

const failing = (check: string, required = true, detail = 'failed') => ({ check, required, detail });
const titles = (changes: Partial<HealthReadings>): readonly string[] =>
  findProblems({ ...fine, ...changes }).map(({ title }) => title);

describe('findProblems', () => {
  it('finds nothing in a healthy installation or in sections that could not be read', () => {
    expect(titles({})).toEqual([]);
    expect(titles({ queues: null, money: null, fleet: null, loops: null })).toEqual([]);
  });

  it('names an engine once with the processes that cannot reach it', () => {
    const processes = ['api', 'worker', 'gateway'].map((name) =>
      process(name, { failing: [failing('nats')] }),
    );
    expect(titles({ processes })).toEqual(['NATS is unreachable from api, worker, gateway']);
  });

  it('names a wrong clock, and a process that does not report', () => {
    const clock = failing('clock', true, 'The clock is 90 s ahead of the database.');
    const processes = [
      process('worker 1', { failing: [clock] }),
      process('worker 2', { status: 'unreachable', passing: [] }),
    ];
    expect(titles({ processes })).toEqual([
      'The clock of worker 1 is wrong: The clock is 90 s ahead of the database.',
      'worker 2 does not report its health',
    ]);
  });

  it('names silent clusters, storage nodes and engines that are down', () => {
    const fleet = {
      ...{ clusters: 7, nodes: 9, nodesFaulty: 1, storageNodes: 1, hasModelWithoutEngine: false },
      ...{ regions: [], storageRegions: [] },
      silentClusters: ['a', 'b', 'c', 'd', 'e', 'f'],
      silentStorageNodes: ['shelf'],
      enginesDown: ['tiny', 'tiny'],
    };
    expect(titles({ fleet })).toEqual([
      '6 clusters not responding: a, b, c, d, e and 1 more',
      '1 storage node not responding: shelf',
      '2 inference engines down, of tiny',
      '1 node offline or quarantined',
    ]);
  });

  it('names late queues, failing loops, wrong money and an unconfirmed restore, the most serious first', () => {
    const found = findProblems({
      ...fine,
      queues: { outboxWaiting: 12, outboxOldestSeconds: 125, outboxParked: 1, webhooksOldestSeconds: 7_300 },
      money: { isClean: false, lastCleanSeconds: 90_000 },
      loops: [{ loop: 'post meters', items: 2, failingSeconds: 90_000 }],
      processes: [process('worker', { failing: [failing('newest database')] })],
    });
    expect(found.map(({ severity, title }) => `${severity}: ${title}`)).toEqual([
      'critical: Workers cannot confirm that the database is the newest state, for example after a restore',
      'critical: The last audit found drift in the ledger',
      'critical: The oldest of 12 outbox rows waits for 2 minutes',
      'warning: 1 outbox row parked after too many failures',
      'warning: The oldest due webhook waits for 2 hours',
      'warning: 2 items failing in the loop “post meters” for 1 day',
    ]);
    expect(found.every(({ effect, runbook }) => effect !== '' && runbook.startsWith('/docs/runbooks/'))).toBe(
      true,
    );
  });

  it('names a late audit', () => {
    expect(titles({ money: { isClean: true, lastCleanSeconds: 2 * 3_600 } })).toEqual([
      'The last audit without errors was 2 hours ago',
    ]);
  });
});

describe('dependencyReadings', () => {
  it('an engine is fine only if a process reached it and none failed to', () => {
    const processes = [process('api', { passing: ['postgres'], failing: [failing('valkey', false)] })];
    expect(dependencyReadings(processes)).toEqual([
      { name: 'PostgreSQL', ok: true, seenBy: 1 },
      { name: 'NATS', ok: false, seenBy: 0 },
      { name: 'Valkey', ok: false, seenBy: 1 },
      { name: 'Restate', ok: false, seenBy: 0 },
    ]);
  });
});
