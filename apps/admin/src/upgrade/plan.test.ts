import { describe, expect, test } from 'vitest';
import { planRollback, planUpgrade, type UpgradeFacts } from './plan.ts';

const [old, next] = ['0.2.0', '0.3.0-0123456789ab'];
const session = (role: string, release: string | null, address = '10.0.0.11') => ({ role, release, address });
const contract = { kind: 'column', name: 'rentals.colour', since: '0.3.0' };

/** An installation on one machine, completely of the installed release. */
const upgraded: UpgradeFacts = {
  installed: next,
  problems: [],
  pending: [],
  sessions: [session('worker', next), session('api', next)],
  gateways: [{ address: '10.0.0.11:8090', release: next }],
  deployments: [
    { id: 'dp_1', uri: `https://w/release/${next}`, release: next, isLatest: true, unfinished: 4 },
  ],
};

const statesOf = (facts: Partial<UpgradeFacts>): readonly string[] =>
  planUpgrade({ ...upgraded, ...facts }).map(({ state }) => state);

describe('planUpgrade', () => {
  test('reports a complete upgrade', () => {
    expect(statesOf({})).toEqual(['done', 'done', 'done', 'done', 'done', 'done']);
  });

  test('names the first step that is not done, and lets the others wait', () => {
    const sessions = [session('worker', null), session('api', null)];
    const gateways = [{ address: '10.0.0.11:8090', release: old }];
    const pending = [{ version: 53, name: 'more', contracts: [] }];
    const before = { sessions, gateways };
    expect(statesOf({ ...before, pending })).toEqual([
      'done',
      'next',
      'waiting',
      'waiting',
      'waiting',
      'done',
    ]);
    expect(statesOf(before)).toEqual(['done', 'done', 'next', 'waiting', 'waiting', 'done']);
  });

  test('continues with the machine that is left after an interruption', () => {
    const sessions = [...upgraded.sessions, session('worker', null, '10.0.0.12')];
    const steps = planUpgrade({ ...upgraded, sessions });
    expect(steps[2]).toMatchObject({
      state: 'next',
      lines: expect.arrayContaining(['10.0.0.12: 0.2.0 or older']),
    });
  });

  test('does not count a gateway of another machine as replaced if it does not answer', () => {
    const gateways = [...upgraded.gateways, { address: '10.0.0.12', release: null }];
    expect(planUpgrade({ ...upgraded, gateways })[4]).toMatchObject({
      state: 'next',
      lines: expect.arrayContaining(['10.0.0.12: does not answer']),
    });
  });

  test('is blocked by findings of doctor, before anything is changed', () => {
    const steps = planUpgrade({ ...upgraded, problems: ['backup: the newest backup is too old'] });
    expect(steps[0]).toMatchObject({
      state: 'blocked',
      lines: expect.arrayContaining(['backup: the newest backup is too old']),
    });
  });

  test('holds back a migration that removes an object while an older release runs', () => {
    const pending = [{ version: 60, name: 'drop_colour', contracts: [contract] }];
    const [, schema] = planUpgrade({ ...upgraded, pending, sessions: [session('api', null)] });
    expect(schema).toMatchObject({ state: 'blocked' });
    expect(schema?.lines[0]).toContain('Migration 60 removes the column rentals.colour');
    expect(schema?.lines[0]).toContain('Upgrade to 0.3.0 first.');
    expect(statesOf({ pending })[1]).toBe('next');
    const later = [{ version: 60, name: 'drop_colour', contracts: [{ ...contract, since: '0.3.1' }] }];
    expect(statesOf({ pending: later })[1]).toBe('blocked');
  });

  test('waits for the calls of an earlier release at Restate', () => {
    const earlier = { id: 'dp_0', uri: 'https://w', release: null, isLatest: false, unfinished: 2 };
    const steps = planUpgrade({ ...upgraded, deployments: [...(upgraded.deployments ?? []), earlier] });
    expect(steps.at(-1)).toMatchObject({
      state: 'next',
      lines: ['https://w: 2 calls have not ended.', expect.stringContaining('Run this command again.')],
    });
    expect(statesOf({ deployments: null }).at(-1)).toBe('blocked');
  });
});

describe('planRollback', () => {
  test('returns the gateway first and the worker last, and keeps the schema', () => {
    const steps = planRollback(upgraded, [{ version: 53, contracts: [] }], '0.2.0');
    expect(steps.map(({ title, state }) => `${title}: ${state}`)).toEqual([
      'Schema of the database: done',
      'Processes: gateway: next',
      'Processes: api: waiting',
      'Processes: worker: waiting',
    ]);
  });

  test('is blocked if a migration removed an object that the earlier release uses', () => {
    const applied = [{ version: 60, contracts: [contract] }];
    expect(planRollback(upgraded, applied, '0.2.0')).toMatchObject([{ state: 'blocked' }]);
    expect(planRollback(upgraded, applied, '0.3.0')[0]).toMatchObject({ state: 'done' });
  });
});
