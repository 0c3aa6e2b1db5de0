import { quantileBy, stat, timeseries, type Dashboard } from './dashboard.ts';

export const overviewDashboard: Dashboard = {
  name: 'overview',
  title: 'overview',
  panels: [
    stat(
      'Firing pages',
      'short',
      { pages: 'count(ALERTS{alertstate="firing",severity="page"}) or vector(0)' },
      'Alerts for the person on call. Each has a runbook.',
    ),
    stat(
      'Processes that do not respond',
      'short',
      { processes: 'count(up{job=~"millrace-.*"} == 0) or vector(0)' },
      'Apis, workers and gateways that Prometheus cannot scrape.',
    ),
    stat(
      'Failed requests to the API',
      'percentunit',
      {
        share:
          'sum(rate(http_server_request_duration_seconds_count{status=~"5.."}[5m])) / sum(rate(http_server_request_duration_seconds_count[5m]))',
      },
      'Share of responses with a status of 500 or more, of the last five minutes.',
    ),
    stat(
      'Failed inference requests',
      'percentunit',
      {
        share:
          'sum(rate(millrace_gateway_request_duration_seconds_count{status=~"5.."}[5m])) / sum(rate(millrace_gateway_request_duration_seconds_count[5m]))',
      },
      'Share of responses with a status of 500 or more, of the last five minutes.',
    ),
    timeseries(
      'Requests',
      'reqps',
      {
        API: 'sum(rate(http_server_request_duration_seconds_count[5m]))',
        inference: 'sum(rate(millrace_gateway_request_duration_seconds_count[5m]))',
      },
      'Requests per second to all apis and to all gateways.',
    ),
    timeseries(
      'Slow requests',
      's',
      {
        'API, 95 %': quantileBy(0.95, 'http_server_request_duration_seconds'),
        'first token, 95 %': quantileBy(0.95, 'gen_ai_server_time_to_first_token_seconds'),
      },
      'One in 20 requests takes longer.',
    ),
    timeseries(
      'Waiting work',
      's',
      {
        'oldest outbox row': 'max(millrace_outbox_oldest_seconds)',
        'oldest due webhook delivery': 'max(millrace_webhook_oldest_due_seconds)',
        'oldest usage that is not charged': 'max(millrace_usage_unsettled_oldest_seconds)',
      },
      'Ages of the oldest waiting work. They are near 0 in normal operation.',
    ),
    timeseries(
      'Failing health checks',
      'short',
      { '{{check}}': 'sum by (check) (millrace_check_failing)' },
      'The number of processes in which the check fails.',
    ),
    timeseries(
      'Restarts',
      'short',
      { '{{job}} {{instance}}': 'changes(process_start_time_seconds{job=~"millrace-.*"}[30m])' },
      'Restarts of each process within 30 minutes.',
    ),
    timeseries(
      'Clocks',
      's',
      { '{{instance}} against {{reference}}': 'millrace_clock_skew_seconds' },
      'Differences of the clocks. Above two seconds a process stops charging and deleting.',
    ),
    timeseries(
      'Parked and failing work',
      'short',
      {
        'parked outbox rows': 'max(millrace_outbox_parked)',
        'failing items of {{loop}}': 'max by (loop) (millrace_loop_items_failing)',
      },
      'Work that failed repeatedly. Each needs an operator.',
    ),
    timeseries(
      'Emails and webhooks',
      'ops',
      {
        'emails {{outcome}}': 'sum by (outcome) (rate(millrace_mails_total[5m]))',
        'webhook attempts {{outcome}}': 'sum by (outcome) (rate(millrace_webhook_attempts_total[5m]))',
      },
      'Failed webhook attempts are failures of the receivers of tenants.',
    ),
  ],
};
