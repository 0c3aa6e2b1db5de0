import type { RestoreState } from '@millrace/core/restore';
import type { CheckResult, Fact, Problem } from './check-result.ts';
import type { ServerFacts } from './server-facts.store.ts';

/** Decides whether a restore is complete, and what is next. Pure. */

export interface AfterRestore {
  readonly server: ServerFacts;
  readonly schema: { readonly found: number; readonly needed: number };
  /** Null if the schema has no restore state. */
  readonly state: RestoreState | null;
  /** Ids of sealing keys that are missing or differ from those that sealed secrets; null if no keys could be read. */
  readonly wrongKeys: readonly string[] | null;
}

export function checkAfterRestore({ server, schema, state, wrongKeys }: AfterRestore): CheckResult {
  const facts: Fact[] = [
    {
      name: 'server',
      text: server.isInRecovery ? 'recovers' : `accepts writes, timeline ${server.timeline}`,
    },
    { name: 'schema', text: `version ${schema.found}, this release needs ${schema.needed}` },
    ...(state === null ? [] : [{ name: 'restore', text: textOf(state) }]),
  ];
  const problems = [
    ...recoveryProblems(server),
    ...schemaProblems(schema),
    ...keyProblems(wrongKeys),
    ...(server.isInRecovery || state === null ? [] : stateProblems(server, state)),
  ];
  return { facts, problems };
}

function textOf({ status, markedAt, generation }: RestoreState): string {
  return status === 'normal'
    ? `normal, generation ${generation}`
    : `${status}, restored to about ${markedAt.toISOString()}`;
}

function recoveryProblems({ isInRecovery, archiveMode }: ServerFacts): readonly Problem[] {
  if (isInRecovery) {
    return [
      {
        id: 'recovery-unfinished',
        problem: 'PostgreSQL recovers, or waits for a decision at the target.',
        remedy:
          'Wait until its log has "archive recovery complete". If it paused: psql -c "select pg_promote()" as user postgres.',
      },
    ];
  }
  return archiveMode === 'off'
    ? [
        {
          id: 'archive-off',
          problem: 'The restored server archives no WAL.',
          remedy:
            'Set archive_mode and archive_command as docs/runbooks/backup.md describes, then make a backup.',
        },
      ]
    : [];
}

function schemaProblems({ found, needed }: AfterRestore['schema']): readonly Problem[] {
  if (found === needed) return [];
  const problem = `The schema has version ${found}, and this release needs ${needed}.`;
  return found < needed
    ? [{ id: 'schema-old', problem, remedy: 'millrace-admin migrate' }]
    : [
        {
          id: 'schema-new',
          problem,
          remedy: 'Install the release that ran at the restore point, or a later one.',
        },
      ];
}

function keyProblems(wrongKeys: AfterRestore['wrongKeys']): readonly Problem[] {
  if (wrongKeys === null) {
    const problem = 'The sealing keys could not be read, so it is unknown whether stored secrets can be.';
    return [
      {
        id: 'sealing-keys-unread',
        problem,
        remedy: 'Run this on a machine with api.env or worker.env, as root.',
      },
    ];
  }
  return wrongKeys.map((id) => ({
    id: 'sealing-key-missing',
    problem: `Secrets were sealed with the key ${id}, which is missing or different in MILLRACE_SEALING_KEYS.`,
    remedy:
      'Restore sealing.keys from the copy of /etc/millrace. Otherwise every webhook and engine key must be entered again.',
  }));
}

function stateProblems(server: ServerFacts, state: RestoreState): readonly Problem[] {
  const { status, report, confirmedAt } = state;
  if (status === 'normal') {
    if (confirmedAt !== null && confirmedAt > server.startedAt) return [];
    return [
      {
        id: 'restore-undetected',
        problem: 'No worker has detected the restore.',
        remedy:
          'Start a worker and check again after a minute. If NATS and Valkey were lost too, run first: ' +
          'millrace-admin restore declare --reason TEXT',
      },
    ];
  }
  if (status === 'confirming') {
    const problem = 'The restore is confirmed, and no worker has completed it.';
    return [{ id: 'restore-confirming', problem, remedy: 'Check that a worker runs.' }];
  }
  if (report === null) {
    const problem = 'No worker has reported newer work yet.';
    return [{ id: 'restore-unreported', problem, remedy: 'Check that a worker runs, and wait a minute.' }];
  }
  return report.problems.length > 0
    ? report.problems.map((problem) => ({
        id: 'restore-incomplete',
        problem: `The report is incomplete: ${problem}`,
        remedy: 'Repair what it names, then check again.',
      }))
    : [
        {
          id: 'restore-unconfirmed',
          problem: 'The restore is detected and reported, and waits for your confirmation.',
          remedy: 'millrace-admin restore status, then millrace-admin restore confirm --reason TEXT',
        },
      ];
}
