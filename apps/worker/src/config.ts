import {
  fragment,
  healthPorts,
  loadConfig,
  values,
  workerFragments,
  type Environment,
} from '@millrace/platform/config';

const workerVariables = {
  healthPort: healthPorts.worker,
  relayLeaseMs: {
    env: 'MILLRACE_RELAY_LEASE_MS',
    schema: values.wholeNumber(200, 300_000).default(10_000),
    expected: 'how long an unresponsive relay keeps its shards, in milliseconds, 200 to 300000',
    example: '10000',
  },
  relayPollMs: {
    env: 'MILLRACE_RELAY_POLL_MS',
    schema: values.wholeNumber(1, 10_000).default(15),
    expected: 'how often an idle relay polls for new rows, in milliseconds, 1 to 10000',
    example: '15',
  },
  webhookLeaseMs: {
    env: 'MILLRACE_WEBHOOK_LEASE_MS',
    schema: values.wholeNumber(500, 300_000).default(30_000),
    expected: 'how long an unresponsive worker keeps its webhooks, in milliseconds, 500 to 300000',
    example: '30000',
  },
  eventRetentionDays: {
    env: 'MILLRACE_EVENT_RETENTION_DAYS',
    schema: values.wholeNumber(0, 3_650).default(90),
    expected: 'how many days published events are kept, 0 to 3650 (0 keeps them forever)',
    example: '90',
  },
  streamMaxMebibytes: {
    env: 'MILLRACE_EVENT_STREAM_MAX_MIB',
    schema: values.wholeNumber(1, 1_048_576).default(1_024),
    expected: 'the size of the event stream above which the oldest messages are deleted, in MiB',
    example: '1024',
  },
  streamMaxAgeDays: {
    env: 'MILLRACE_EVENT_STREAM_MAX_AGE_DAYS',
    schema: values.wholeNumber(1, 365).default(7),
    expected: 'how many days the event stream keeps a message, 1 to 365',
    example: '7',
  },
  usageStreamMaxMebibytes: {
    env: 'MILLRACE_USAGE_STREAM_MAX_MIB',
    schema: values.wholeNumber(1, 1_048_576).default(1_024),
    expected: 'the size of the usage stream above which gateways admit no more requests, in MiB',
    example: '1024',
  },
  keyFeedMaxMebibytes: {
    env: 'MILLRACE_GATEWAY_BOOK_MAX_MIB',
    schema: values.wholeNumber(1, 1_048_576).default(512),
    expected: 'the maximum size of the key feed, in MiB: about 1000 bytes per API key and organisation',
    example: '512',
  },
  registerMs: {
    env: 'MILLRACE_RESTATE_REGISTER_MS',
    schema: values.wholeNumber(100, 3_600_000).default(15_000),
    expected: 'how often this worker registers with Restate, in milliseconds, 100 to 3600000',
    example: '15000',
  },
  replaceDeployment: {
    env: 'MILLRACE_RESTATE_REPLACE_DEPLOYMENT',
    schema: values.boolean.default(false),
    expected: 'true to register changed handlers at a registered address (development only), or false',
    example: 'true',
  },
  auditEveryMs: {
    env: 'MILLRACE_AUDIT_EVERY_MS',
    schema: values.wholeNumber(1_000, 86_400_000).default(300_000),
    expected: 'how often to audit new ledger entries, in milliseconds, 1000 to 86400000',
    example: '300000',
  },
  auditFullEveryHours: {
    env: 'MILLRACE_AUDIT_FULL_EVERY_HOURS',
    schema: values.wholeNumber(1, 8_760).default(24),
    expected: 'how often to audit the whole ledger, in hours, 1 to 8760',
    example: '24',
  },
  archiveAfterMonths: {
    env: 'MILLRACE_ARCHIVE_AFTER_MONTHS',
    schema: values
      .wholeNumber(0, 120)
      .default(0)
      .refine((months) => months === 0 || months >= 13),
    expected: 'after how many months charges move to the archive, 13 to 120 (0: never)',
    example: '18',
  },
  requestsAfterMonths: {
    env: 'MILLRACE_REQUESTS_AFTER_MONTHS',
    schema: values
      .wholeNumber(0, 120)
      .default(0)
      .refine((months) => months === 0 || months >= 3),
    expected: 'after how many months details of inference requests are deleted, 3 to 120 (0: never)',
    example: '13',
  },
  auditStatementTimeoutMs: {
    env: 'MILLRACE_AUDIT_STATEMENT_TIMEOUT_MS',
    schema: values.wholeNumber(1_000, 86_400_000).default(600_000),
    expected: 'the statement timeout of an audit, in milliseconds, 1000 to 86400000',
    example: '600000',
  },
  leaseOutageMs: {
    env: 'MILLRACE_POT_OUTAGE_MS',
    schema: values.wholeNumber(1_000, 86_400_000).default(300_000),
    expected:
      'how long inference continues while the ledger is unreachable, in milliseconds, 1000 to 86400000',
    example: '300000',
  },
  leaseLongestRequestMs: {
    env: 'MILLRACE_POT_LONGEST_REQUEST_MS',
    schema: values.wholeNumber(1_000, 86_400_000).default(600_000),
    expected: 'the maximum duration of an inference request, in milliseconds, 1000 to 86400000',
    example: '600000',
  },
  fleetReadMs: {
    env: 'MILLRACE_FLEET_READ_MS',
    schema: values.wholeNumber(1_000, 600_000).default(30_000),
    expected: 'how often to read the inventory of a cluster, in milliseconds, 1000 to 600000',
    example: '30000',
  },
  fleetSilentMs: {
    env: 'MILLRACE_FLEET_SILENT_MS',
    schema: values.wholeNumber(30_000, 3_600_000).default(90_000),
    expected:
      'how long an engine may be unreachable before its nodes are offline, in milliseconds, 30000 to 3600000',
    example: '90000',
  },
  drainMs: {
    env: 'MILLRACE_DRAIN_MS',
    schema: values.wholeNumber(0, 600_000).default(20_000),
    expected: 'how long running work may take to finish at shutdown, in milliseconds, 0 to 600000',
    example: '20000',
  },
} as const;

const workerConfig = fragment('worker', workerVariables);

export function loadWorkerConfig(env?: Environment) {
  return loadConfig([...workerFragments, workerConfig], env);
}

export type WorkerConfig = ReturnType<typeof loadWorkerConfig>;
