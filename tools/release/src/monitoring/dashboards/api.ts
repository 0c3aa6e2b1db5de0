import { quantileBy, rateBy, timeseries, type Dashboard } from './dashboard.ts';

const requests = 'http_server_request_duration_seconds_count';

export const apiDashboard: Dashboard = {
  name: 'api',
  title: 'API',
  panels: [
    timeseries(
      'Requests by operation',
      'reqps',
      { '{{operation}}': `topk(15, ${rateBy(requests, 'operation')})` },
      'The 15 operations with the most requests.',
    ),
    timeseries(
      'Errors by operation',
      'reqps',
      { '{{operation}} {{status}}': rateBy(requests, 'operation, status', '{status=~"5.."}') },
      'Responses with a status of 500 or more.',
    ),
    timeseries(
      'Duration',
      's',
      {
        '50 %': quantileBy(0.5, 'http_server_request_duration_seconds'),
        '95 %': quantileBy(0.95, 'http_server_request_duration_seconds'),
        '99 %': quantileBy(0.99, 'http_server_request_duration_seconds'),
      },
      'Durations of all operations together, with event streams.',
    ),
    timeseries(
      'Duration by operation, 95 %',
      's',
      {
        '{{operation}}': `topk(15, ${quantileBy(0.95, 'http_server_request_duration_seconds', 'operation')})`,
      },
      'The 15 slowest operations.',
    ),
    timeseries(
      'Refused requests',
      'reqps',
      {
        '{{status}}': rateBy(requests, 'status', '{status=~"4.."}'),
        'rate limit {{policy}}': rateBy('millrace_limiter_refused_total', 'policy'),
        'key {{reason}}': rateBy('millrace_key_refusals_total', 'reason'),
        'session {{reason}}': rateBy('millrace_session_refusals_total', 'reason'),
      },
      'Responses with a status of 400 to 499, and why keys, sessions and rate limits refuse.',
    ),
    timeseries(
      'Transactions, 95 %',
      's',
      { '{{name}}': `topk(15, ${quantileBy(0.95, 'millrace_db_transaction_duration_seconds', 'name')})` },
      'The 15 slowest transactions of apis and workers, with all attempts.',
    ),
    timeseries(
      'Repeated transactions',
      'ops',
      {
        '{{name}}': `topk(15, ${rateBy('millrace_db_transaction_attempts_total', 'name', '{first="false"}')})`,
      },
      'Attempts after the first, because of conflicts or lost connections.',
    ),
    timeseries(
      'Event streams',
      'short',
      { '{{instance}}': 'millrace_feed_followers' },
      'Open event streams of each api.',
    ),
  ],
};
