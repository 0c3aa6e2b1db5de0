import { msToSecondsRoundDown } from '@millrace/platform/money';
import { elapsedText, type CheckResult, type Fact, type Problem } from './check-result.ts';
import type { Repository, StoredBackup } from './pgbackrest-info.ts';
import type { LaterRows, ServerFacts } from './server-facts.store.ts';

/** Decides whether the database could be restored now, and to the target. Pure. */

export interface BeforeRestore {
  readonly now: Date;
  readonly repository: Repository;
  /** Null if PostgreSQL does not respond. */
  readonly server: ServerFacts | null;
  readonly target: Date | null;
  /** Null without a target or without a server. */
  readonly later: LaterRows | null;
}

/** As in `millrace-admin doctor`. */
const OLDEST_BACKUP_MS = 26 * 3_600_000;
const LATE_ARCHIVE_MS = 5 * 60_000;
const LONGEST_ARCHIVE_TIMEOUT_SECONDS = 300;

export function checkBeforeRestore(state: BeforeRestore): CheckResult {
  const { facts, problems } = checkRepository(state);
  return {
    facts: [...facts, ...archiveFacts(state), ...targetFacts(state)],
    problems: [...problems, ...archiveProblems(state), ...targetProblems(state)],
  };
}

function checkRepository({ now, repository }: BeforeRestore): CheckResult {
  const { backups, isEncrypted, problem } = repository;
  const newest = backups.at(-1);
  const oldest = backups[0];
  const problems: Problem[] = [];
  if (problem !== null && newest !== undefined) {
    problems.push({
      id: 'repository-problem',
      problem: `pgBackRest reports: ${problem}.`,
      remedy: 'Run `pgbackrest --stanza=millrace check` as user postgres, and repair what it names.',
    });
  }
  if (!isEncrypted) {
    problems.push({
      id: 'repository-unencrypted',
      problem: 'The repository is not encrypted.',
      remedy:
        'Create a new repository with repo1-cipher-type and repo1-cipher-pass, as deploy/pgbackrest/README.md describes.',
    });
  }
  if (newest === undefined || oldest === undefined) {
    problems.push({
      id: 'backup-missing',
      problem: 'The repository has no backup.',
      remedy: 'systemctl start millrace-pgbackrest.service',
    });
    return { facts: [], problems };
  }
  if (now.getTime() - newest.endedAt.getTime() > OLDEST_BACKUP_MS) {
    problems.push({
      id: 'backup-old',
      problem: `The newest backup ended ${elapsedText(newest.endedAt, now)}.`,
      remedy: '`systemctl status millrace-pgbackrest.timer millrace-pgbackrest.service` shows why.',
    });
  }
  if (newest.hasErrors) {
    problems.push({
      id: 'backup-damaged',
      problem: `pgBackRest found damaged pages in the backup ${newest.label}.`,
      remedy: 'The disk of the database is damaged. Restore an earlier backup on another disk.',
    });
  }
  const text = `${newest.label}, ended ${newest.endedAt.toISOString()} (${elapsedText(newest.endedAt, now)}), ${newest.bytes} bytes`;
  return {
    facts: [
      { name: 'newest backup', text },
      { name: 'backups', text: `${backups.length}, the oldest of ${oldest.endedAt.toISOString()}` },
    ],
    problems,
  };
}

function archiveFacts({ repository, server }: BeforeRestore): readonly Fact[] {
  const newest = repository.newestWal ?? 'none';
  if (server === null) return [{ name: 'newest WAL', text: `${newest}; PostgreSQL does not respond` }];
  const { lastArchivedAt } = server;
  const at = lastArchivedAt === null ? '' : `, stored ${lastArchivedAt.toISOString()}`;
  return [{ name: 'newest WAL', text: `${newest}${at}` }];
}

function archiveProblems({ server }: BeforeRestore): readonly Problem[] {
  // A standby archives nothing.
  if (server === null || server.isInRecovery) return [];
  const { archiveMode, archiveTimeoutSeconds, lastArchivedAt, lastFailedAt, lastFailedWal, now } = server;
  if (archiveMode === 'off') {
    const problem = 'PostgreSQL archives no WAL, so only the state of a backup can be restored.';
    return [
      {
        id: 'archive-off',
        problem,
        remedy: 'Set archive_mode and archive_command as docs/runbooks/backup.md describes.',
      },
    ];
  }
  const problems: Problem[] = [];
  if (lastFailedAt !== null && (lastArchivedAt === null || lastFailedAt > lastArchivedAt)) {
    problems.push({
      id: 'archive-failing',
      problem: `PostgreSQL cannot store the WAL file ${lastFailedWal}: it failed at ${lastFailedAt.toISOString()}.`,
      remedy:
        'The log of PostgreSQL and /var/log/pgbackrest have the reason. A full or unreachable repository is the usual one.',
    });
  } else if (lastArchivedAt === null || now.getTime() - lastArchivedAt.getTime() > LATE_ARCHIVE_MS) {
    const since = lastArchivedAt === null ? 'ever' : `since ${lastArchivedAt.toISOString()}`;
    problems.push({
      id: 'archive-late',
      problem: `No WAL was stored ${since}.`,
      remedy: 'Run `pgbackrest --stanza=millrace check` as user postgres: it stores WAL and shows an error.',
    });
  }
  if (archiveTimeoutSeconds === 0 || archiveTimeoutSeconds > LONGEST_ARCHIVE_TIMEOUT_SECONDS) {
    problems.push({
      id: 'archive-timeout',
      problem: `archive_timeout is ${archiveTimeoutSeconds} s, so the loss of all servers can lose more than five minutes.`,
      remedy:
        "As user postgres: psql -c \"alter system set archive_timeout = '60s'\" -c 'select pg_reload_conf()'",
    });
  }
  return problems;
}

const second = (at: Date): number => msToSecondsRoundDown(at.getTime());

/** pgBackRest knows the end of a backup to the second, and restores only to later seconds. */
export function backupFor(backups: readonly StoredBackup[], target: Date): StoredBackup | undefined {
  return backups.findLast(({ endedAt }) => second(endedAt) < second(target));
}

function targetFacts({ repository, target, later }: BeforeRestore): readonly Fact[] {
  if (target === null) return [];
  const backup = backupFor(repository.backups, target);
  const facts: Fact[] = [{ name: 'target', text: target.toISOString() }];
  if (backup !== undefined) facts.push({ name: 'restores from', text: backup.label });
  if (later !== null) facts.push({ name: 'lost after it', text: laterText(later) });
  return facts;
}

function laterText(later: LaterRows): string {
  const { transfers, charges, chargesNanoUsd, rentals, payments, invoices, events } = later;
  return (
    `${transfers} ledger transfers, ${charges} charged requests of ${chargesNanoUsd} nano-USD, ${rentals} rentals, ` +
    `${payments} payments, ${invoices} invoices, ${events} events`
  );
}

function targetProblems({ now, repository, server, target }: BeforeRestore): readonly Problem[] {
  const [oldest] = repository.backups;
  if (target === null || oldest === undefined) return [];
  if (target > now) {
    return [
      {
        id: 'target-in-future',
        problem: `The target ${target.toISOString()} is in the future.`,
        remedy: 'Use an earlier target.',
      },
    ];
  }
  if (backupFor(repository.backups, target) === undefined) {
    const earliest = new Date((second(oldest.endedAt) + 1) * 1_000);
    return [
      {
        id: 'target-too-early',
        problem: `The target ${target.toISOString()} is before the end of the oldest backup.`,
        remedy: `Use a target from ${earliest.toISOString()} on.`,
      },
    ];
  }
  const archivedAt = server?.lastArchivedAt ?? null;
  if (server === null || server.isInRecovery || (archivedAt !== null && archivedAt >= target)) return [];
  return [
    {
      id: 'target-not-archived',
      problem: `The WAL of the target ${target.toISOString()} is not stored yet.`,
      remedy:
        'While PostgreSQL responds: psql -c "select pg_switch_wal()" as user postgres, then check again.',
    },
  ];
}
