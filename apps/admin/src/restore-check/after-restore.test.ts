import type { RestoreState } from '@millrace/core/restore';
import { describe, expect, it } from 'vitest';
import { checkAfterRestore, type AfterRestore } from './after-restore.ts';
import type { ServerFacts } from './server-facts.store.ts';

const startedAt = new Date('2026-11-20T12:00:00Z');
const server = { isInRecovery: false, timeline: 2, startedAt, archiveMode: 'on' } as ServerFacts;
const state = {
  ...{ status: 'normal', markedAt: startedAt, generation: 2, report: null },
  confirmedAt: new Date('2026-11-20T12:30:00Z'),
} as RestoreState;
const done: AfterRestore = { server, schema: { found: 7, needed: 7 }, state, wrongKeys: [] };
const restored = { ...state, status: 'restored', confirmedAt: null } as const;
const reported = (problems: readonly string[]) =>
  ({ ...restored, report: { problems } }) as unknown as RestoreState;

describe('checkAfterRestore', () => {
  it('finds no problem once a restore is confirmed', () => {
    expect(checkAfterRestore(done).problems).toEqual([]);
  });

  it.each([
    ['recovery-unfinished', { server: { ...server, isInRecovery: true } }],
    ['archive-off', { server: { ...server, archiveMode: 'off' } }],
    ['schema-old', { schema: { found: 6, needed: 7 }, state: null }],
    ['schema-new', { schema: { found: 8, needed: 7 }, state: null }],
    ['sealing-keys-unread', { wrongKeys: null }],
    ['sealing-key-missing', { wrongKeys: ['2026-08'] }],
    ['restore-undetected', { state: { ...state, confirmedAt: null } }],
    ['restore-undetected', { state: { ...state, confirmedAt: new Date('2026-11-20T11:59:59Z') } }],
    ['restore-unreported', { state: restored }],
    ['restore-incomplete', { state: reported(['Payments at Stripe: no response']) }],
    ['restore-unconfirmed', { state: reported([]) }],
    ['restore-confirming', { state: { ...restored, status: 'confirming' } }],
  ] satisfies [string, Partial<AfterRestore>][])('finds %s', (id, change) => {
    expect(checkAfterRestore({ ...done, ...change }).problems.map((each) => each.id)).toEqual([id]);
  });
});
