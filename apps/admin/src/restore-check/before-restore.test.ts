import { describe, expect, it } from 'vitest';
import { backupFor, checkBeforeRestore, type BeforeRestore } from './before-restore.ts';
import type { ServerFacts } from './server-facts.store.ts';

const at = (text: string): Date => new Date(`2026-11-20T${text}Z`);
const backup = (label: string, endedAt: Date) => ({
  ...{ label, endedAt, startedAt: endedAt, bytes: 1, hasErrors: false },
});
const server: ServerFacts = {
  now: at('12:00:00'),
  isInRecovery: false,
  timeline: 1,
  startedAt: at('00:00:00'),
  archiveMode: 'on',
  archiveTimeoutSeconds: 60,
  lastArchivedAt: at('11:59:30'),
  lastArchivedWal: '000000010000000000000010',
  lastFailedAt: at('10:00:00'),
  lastFailedWal: '00000001000000000000000F',
};
const healthy: BeforeRestore = {
  now: at('12:00:00'),
  repository: {
    isEncrypted: true,
    problem: null,
    backups: [backup('first', at('01:00:00')), backup('second', at('02:00:00'))],
    newestWal: '000000010000000000000010',
  },
  server,
  target: at('11:00:00'),
  later: null,
};
const problemsOf = (change: Partial<BeforeRestore>): string[] =>
  checkBeforeRestore({ ...healthy, ...change }).problems.map(({ id }) => id);

describe('checkBeforeRestore', () => {
  it('finds no problem with a new backup, current WAL and a target that is stored', () => {
    expect(problemsOf({})).toEqual([]);
    expect(problemsOf({ server: null })).toEqual([]);
  });

  it.each([
    [
      'backup-old',
      {
        now: at('12:00:00'),
        repository: { ...healthy.repository, backups: [backup('old', new Date('2026-11-19T09:59:00Z'))] },
      },
    ],
    ['repository-unencrypted', { repository: { ...healthy.repository, isEncrypted: false } }],
    ['repository-problem', { repository: { ...healthy.repository, problem: 'missing stanza data' } }],
    [
      'backup-damaged',
      {
        repository: {
          ...healthy.repository,
          backups: [{ ...backup('second', at('02:00:00')), hasErrors: true }],
        },
      },
    ],
    ['archive-off', { server: { ...server, archiveMode: 'off' } }],
    ['archive-failing', { server: { ...server, lastFailedAt: at('11:59:40') } }],
    ['archive-late', { target: null, server: { ...server, lastArchivedAt: at('11:54:00') } }],
    ['archive-timeout', { server: { ...server, archiveTimeoutSeconds: 0 } }],
    ['target-in-future', { target: at('12:00:01') }],
    ['target-too-early', { target: at('01:00:00') }],
    ['target-not-archived', { target: at('11:59:31') }],
  ] satisfies [string, Partial<BeforeRestore>][])('finds %s', (id, change) => {
    expect(problemsOf(change)).toEqual([id]);
  });
});

describe('backupFor', () => {
  it('returns the newest backup that ended in an earlier second than the target', () => {
    const { backups } = healthy.repository;
    expect(backupFor(backups, at('02:00:00.900'))?.label).toBe('first');
    expect(backupFor(backups, at('02:00:01'))?.label).toBe('second');
    expect(backupFor(backups, at('01:00:00.900'))).toBeUndefined();
  });
});
