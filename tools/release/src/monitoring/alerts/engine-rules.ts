import { level, perMinute, type AlertRule } from './alert-rule.ts';

const page = 'engines';
const worker = { job: 'millrace-worker', instance: 'w:1' };
const ofWorker = 'job="millrace-worker",instance="w:1"';

const checkRule = (
  name: string,
  check: string,
  forMinutes: number,
  severity: AlertRule['severity'],
  summary: string,
): AlertRule => ({
  name,
  expr: `max by (job, instance) (millrace_check_failing{check="${check}"}) == 1`,
  forMinutes,
  severity,
  summary,
  page,
  test: {
    series: { [`millrace_check_failing{${ofWorker},check="${check}",required="true"}`]: level(0, 1, 0) },
    labels: worker,
  },
});

export const engineRules: readonly AlertRule[] = [
  checkRule('MillraceDatabaseUnreachable', 'postgres', 1, 'page', 'A process cannot reach PostgreSQL.'),
  checkRule('MillraceNatsUnreachable', 'nats', 1, 'page', 'A process cannot reach NATS.'),
  checkRule('MillraceValkeyUnreachable', 'valkey', 1, 'page', 'A process cannot reach Valkey.'),
  checkRule(
    'MillraceLeaseServerUnreachable',
    'pot valkey',
    1,
    'page',
    'A worker cannot reach the Valkey that has the credit leases, so it grants no credit.',
  ),
  checkRule(
    'MillraceRestateUnreachable',
    'restate registration',
    2,
    'page',
    'A worker is not registered with Restate, or Restate does not respond.',
  ),
  {
    name: 'MillraceDatabaseFailover',
    expr: 'max(max_over_time(millrace_db_timeline[15m])) - min(min_over_time(millrace_db_timeline[15m])) > 0',
    forMinutes: 0,
    severity: 'ticket',
    summary: 'Another PostgreSQL server became the primary, or the database was restored.',
    page,
    windowMinutes: 15,
    test: {
      series: { [`millrace_db_timeline{${ofWorker}}`]: { kind: 'counter', normal: 0, fault: 1, almost: 0 } },
    },
  },
  {
    name: 'MillraceDatabaseWithoutStandby',
    expr: 'max(millrace_db_standbys) == 0 and max(max_over_time(millrace_db_standbys[1d])) > 0',
    forMinutes: 5,
    severity: 'page',
    summary: 'PostgreSQL had a standby within the last day and has none now.',
    page,
    test: { series: { [`millrace_db_standbys{${ofWorker}}`]: level(2, 0, 1) } },
  },
  {
    name: 'MillraceDatabaseArchiveFailing',
    expr: 'max(millrace_db_archive_failing) == 1',
    forMinutes: 10,
    severity: 'page',
    summary:
      'PostgreSQL cannot store its WAL in the archive: a restore would lose newer changes, and its disk fills.',
    page,
    test: { series: { [`millrace_db_archive_failing{${ofWorker}}`]: level(0, 1, 0) } },
  },
  {
    name: 'MillraceDatabasePoolFull',
    expr: 'millrace_db_waiting > 5',
    forMinutes: 5,
    severity: 'ticket',
    summary: 'Transactions of a process wait for a database connection.',
    page,
    test: { series: { [`millrace_db_waiting{${ofWorker}}`]: level(0, 6, 5) }, labels: worker },
  },
  {
    name: 'MillraceUsageNotStored',
    expr: 'millrace_usage_unacknowledged > 0 and rate(millrace_usage_publish_failures_total[2m]) > 0',
    forMinutes: 1,
    severity: 'page',
    summary: 'A gateway cannot store usage in NATS, for example because NATS has no quorum.',
    page,
    windowMinutes: 2,
    test: {
      series: {
        [`millrace_usage_unacknowledged{${ofWorker}}`]: level(0, 5, 5),
        [`millrace_usage_publish_failures_total{${ofWorker}}`]: perMinute(0, 3, 0),
      },
      labels: worker,
    },
  },
  {
    name: 'MillraceRestoreBlocked',
    expr: 'max(millrace_restore_blocked) == 1',
    forMinutes: 1,
    severity: 'page',
    summary: 'The database was restored to an earlier point, and an operator must confirm it.',
    page,
    test: { series: { [`millrace_restore_blocked{${ofWorker}}`]: level(0, 1, 0) } },
  },
];
