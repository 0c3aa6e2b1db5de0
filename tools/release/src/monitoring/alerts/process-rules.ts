import { level, type AlertRule } from './alert-rule.ts';

const page = 'processes';
const api = { job: 'millrace-api', instance: 'a:1' };
const ofApi = '{job="millrace-api",instance="a:1"}';
const days = (count: number): number => count * 86_400;

export const processRules: readonly AlertRule[] = [
  {
    name: 'MillraceProcessDown',
    expr: 'up{job=~"millrace-.*"} == 0',
    forMinutes: 1,
    severity: 'page',
    summary: 'A process does not respond to Prometheus.',
    page,
    test: { series: { [`up${ofApi}`]: level(1, 0, 1) }, labels: api },
  },
  {
    name: 'MillraceProcessNotReady',
    expr: 'millrace_ready == 0',
    forMinutes: 2,
    severity: 'page',
    summary: 'A process runs but is not ready, so load balancers send it no requests.',
    page,
    test: { series: { [`millrace_ready${ofApi}`]: level(1, 0, 1) }, labels: api },
  },
  {
    name: 'MillraceProcessRestarts',
    expr: 'changes(process_start_time_seconds{job=~"millrace-.*"}[30m]) > 3',
    forMinutes: 0,
    severity: 'ticket',
    summary: 'A process has restarted more than three times in 30 minutes.',
    page,
    windowMinutes: 30,
    test: {
      series: {
        [`process_start_time_seconds${ofApi}`]: { kind: 'counter', normal: 0, fault: 60, almost: 0 },
      },
      labels: api,
    },
  },
  {
    name: 'MillraceEventLoopBlocked',
    expr: 'nodejs_eventloop_delay_p99_seconds > 0.5',
    forMinutes: 10,
    severity: 'ticket',
    summary: 'A process has too little processor time, or long synchronous work.',
    page,
    test: { series: { [`nodejs_eventloop_delay_p99_seconds${ofApi}`]: level(0.01, 0.6, 0.5) }, labels: api },
  },
  {
    name: 'MillraceMemoryHigh',
    expr: 'process_resident_memory_bytes{job=~"millrace-.*"} > 2e9',
    forMinutes: 15,
    severity: 'ticket',
    summary: 'A process uses more than 2 GB of memory.',
    page,
    test: { series: { [`process_resident_memory_bytes${ofApi}`]: level(2e8, 3e9, 2e9) }, labels: api },
  },
  {
    name: 'MillraceClockWrong',
    expr: 'max by (job, instance) (millrace_clock_wrong) == 1',
    forMinutes: 1,
    severity: 'page',
    summary: 'The clock of a machine is so wrong that its processes stop charging and deleting.',
    page: 'hosts',
    test: {
      series: {
        'millrace_clock_wrong{job="millrace-api",instance="a:1",reference="database"}': level(0, 1, 0),
      },
      labels: api,
    },
  },
  {
    name: 'MillraceClockSkew',
    expr: 'max by (job, instance) (abs(millrace_clock_skew_seconds)) > 0.5',
    forMinutes: 5,
    severity: 'ticket',
    summary: 'The clock of a machine differs from the clock of the database by more than half a second.',
    page: 'hosts',
    test: {
      series: {
        'millrace_clock_skew_seconds{job="millrace-api",instance="a:1",reference="database"}': level(
          0,
          -0.6,
          0.5,
        ),
      },
      labels: api,
    },
  },
  {
    name: 'MillraceCertificateExpires',
    expr: 'millrace_certificate_expires_timestamp_seconds - time() < 14 * 86400',
    forMinutes: 60,
    severity: 'ticket',
    summary: 'A certificate that a process serves expires within 14 days.',
    page: 'hosts',
    test: {
      series: {
        [`millrace_certificate_expires_timestamp_seconds${ofApi}`]: level(days(90), days(13), days(15)),
      },
      labels: api,
    },
  },
  {
    name: 'MillraceCertificateExpiresSoon',
    expr: 'millrace_certificate_expires_timestamp_seconds - time() < 2 * 86400',
    forMinutes: 5,
    severity: 'page',
    summary: 'A certificate that a process serves expires within two days.',
    page: 'hosts',
    test: {
      series: {
        [`millrace_certificate_expires_timestamp_seconds${ofApi}`]: level(days(90), days(1), days(3)),
      },
      labels: api,
    },
  },
  {
    name: 'MillraceDiskFilling',
    expr: 'node_filesystem_avail_bytes{fstype!~"tmpfs|overlay"} / node_filesystem_size_bytes < 0.15',
    forMinutes: 10,
    severity: 'ticket',
    summary: 'A disk has less than 15 % of free space.',
    page: 'hosts',
    test: {
      series: {
        'node_filesystem_avail_bytes{instance="a:1",mountpoint="/"}': level(50, 14, 15),
        'node_filesystem_size_bytes{instance="a:1",mountpoint="/"}': level(100, 100, 100),
      },
      labels: { instance: 'a:1', mountpoint: '/' },
    },
  },
  {
    name: 'MillraceDiskFull',
    expr: 'node_filesystem_avail_bytes{fstype!~"tmpfs|overlay"} / node_filesystem_size_bytes < 0.05',
    forMinutes: 2,
    severity: 'page',
    summary: 'A disk has less than 5 % of free space.',
    page: 'hosts',
    test: {
      series: {
        'node_filesystem_avail_bytes{instance="a:1",mountpoint="/"}': level(50, 4, 5),
        'node_filesystem_size_bytes{instance="a:1",mountpoint="/"}': level(100, 100, 100),
      },
      labels: { instance: 'a:1', mountpoint: '/' },
    },
  },
];
