import { rateBy, stat, timeseries, type Dashboard } from './dashboard.ts';

const ofProcess = '{{job}} {{instance}}';

export const enginesDashboard: Dashboard = {
  name: 'engines',
  title: 'engines and processes',
  panels: [
    stat(
      'Standbys of PostgreSQL',
      'short',
      { standbys: 'max(millrace_db_standbys)' },
      'Standbys that receive the log of the primary.',
    ),
    stat(
      'Timeline of PostgreSQL',
      'short',
      { timeline: 'max(millrace_db_timeline)' },
      'Each failover and each restore increases it.',
    ),
    stat(
      'Restore to confirm',
      'bool',
      { blocked: 'max(millrace_restore_blocked)' },
      '1 after a restore until an operator confirms it.',
    ),
    stat(
      'Next certificate to expire',
      's',
      { left: 'min(millrace_certificate_expires_timestamp_seconds) - time()' },
      'Only processes that serve TLS themselves.',
    ),
    timeseries(
      'Database connections in use',
      'percentunit',
      {
        [ofProcess]:
          'sum by (job, instance) (millrace_db_connections{state="in_use"}) / sum by (job, instance) (millrace_db_connections{state="limit"})',
      },
      'Share of the pool of each process.',
    ),
    timeseries(
      'Waiting for a connection',
      'short',
      { [ofProcess]: 'millrace_db_waiting' },
      'Transactions that wait for the pool.',
    ),
    timeseries(
      'Failing health checks',
      'short',
      { '{{check}} of {{instance}}': 'sum by (check, instance) (millrace_check_failing)' },
      'Engines as the processes see them.',
    ),
    timeseries(
      'Calls without a rate limit',
      'ops',
      { [ofProcess]: rateBy('millrace_limiter_uncounted_total', 'job, instance') },
      'Calls that were admitted uncounted because Valkey did not respond.',
    ),
    timeseries(
      'Outbox',
      'ops',
      {
        'events published': 'sum(rate(millrace_relay_events_published_total[5m]))',
        'commands delivered': 'sum(rate(millrace_relay_commands_delivered_total[5m]))',
        'rows waiting': 'max(millrace_outbox_waiting)',
      },
      'Work that passes from PostgreSQL to NATS and Restate.',
    ),
    timeseries(
      'Failed publishing of usage',
      'ops',
      { '{{instance}}': rateBy('millrace_usage_publish_failures_total', 'instance') },
      'Attempts of gateways to store usage in NATS.',
    ),
    timeseries(
      'Event loop delay, 99 %',
      's',
      { [ofProcess]: 'nodejs_eventloop_delay_p99_seconds' },
      'High values mean too little processor time.',
    ),
    timeseries(
      'Processor time',
      'percentunit',
      { [ofProcess]: 'rate(process_cpu_seconds_total{job=~"millrace-.*"}[5m])' },
      '1 is one core.',
    ),
    timeseries(
      'Memory',
      'bytes',
      { [ofProcess]: 'process_resident_memory_bytes{job=~"millrace-.*"}' },
      'Resident memory of each process.',
    ),
    timeseries(
      'Free disk space',
      'percentunit',
      {
        '{{instance}} {{mountpoint}}':
          'node_filesystem_avail_bytes{fstype!~"tmpfs|overlay"} / node_filesystem_size_bytes',
      },
      'Needs node-exporter.',
    ),
  ],
};
