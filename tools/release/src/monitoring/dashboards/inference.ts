import { quantileBy, rateBy, timeseries, type Dashboard } from './dashboard.ts';

const byModel = '{{gen_ai_request_model}}';
const byEngine = '{{gen_ai_request_model}} {{gen_ai_provider_name}}';
const model = 'gen_ai_request_model';
const modelAndEngine = 'gen_ai_request_model, gen_ai_provider_name';
const perToken = 'gen_ai_server_time_per_output_token_seconds';

export const inferenceDashboard: Dashboard = {
  name: 'inference',
  title: 'gateways and inference',
  panels: [
    timeseries(
      'Requests by route',
      'reqps',
      { '{{route}} {{status}}': rateBy('millrace_gateway_request_duration_seconds_count', 'route, status') },
      'Status 499: the client left.',
    ),
    timeseries(
      'Errors by reason',
      'reqps',
      { '{{route}} {{reason}}': rateBy('millrace_gateway_errors_total', 'route, reason') },
      'Errors that gateways sent, also within streams.',
    ),
    timeseries(
      'Duration by route, 95 %',
      's',
      { '{{route}}': quantileBy(0.95, 'millrace_gateway_request_duration_seconds', 'route') },
      'Until the end of the response.',
    ),
    timeseries(
      'Time to first token, 95 %',
      's',
      { [byEngine]: quantileBy(0.95, 'gen_ai_server_time_to_first_token_seconds', modelAndEngine) },
      'From the call of the engine to its first token.',
    ),
    timeseries(
      'Tokens per second of one stream',
      'ops',
      {
        [byEngine]: `${rateBy(`${perToken}_count`, modelAndEngine)} / ${rateBy(`${perToken}_sum`, modelAndEngine)}`,
      },
      'The mean speed at which a tenant receives tokens after the first.',
    ),
    timeseries(
      'Tokens per second of all streams',
      'ops',
      {
        '{{gen_ai_request_model}} {{gen_ai_token_type}}': rateBy(
          'gen_ai_client_token_usage_sum',
          'gen_ai_request_model, gen_ai_token_type',
        ),
      },
      'Input and output tokens of all requests.',
    ),
    timeseries(
      'Wait in the queue, 95 %',
      's',
      { [byModel]: quantileBy(0.95, 'millrace_gateway_queue_seconds', model) },
      'Only requests that found no free engine.',
    ),
    timeseries(
      'Requests in the queue by outcome',
      'reqps',
      {
        '{{gen_ai_request_model}} {{outcome}}': rateBy(
          'millrace_gateway_queue_seconds_count',
          `${model}, outcome`,
        ),
      },
      'Refused requests mean that the model needs more engines.',
    ),
    timeseries(
      'Errors of engines',
      'ops',
      {
        '{{gen_ai_request_model}} {{gen_ai_provider_name}} {{error_type}}': rateBy(
          'millrace_gateway_upstream_errors_total',
          `${modelAndEngine}, error_type`,
        ),
      },
      'Calls that failed or that a full engine refused, with those that were repeated elsewhere.',
    ),
    timeseries(
      'Duration of calls to engines, 95 %',
      's',
      { [byEngine]: quantileBy(0.95, 'gen_ai_server_request_duration_seconds', modelAndEngine) },
      'Until the end of the response.',
    ),
    timeseries(
      'Open responses',
      'short',
      { '{{instance}}': 'millrace_gateway_open_responses' },
      'Responses that a gateway has not sent completely.',
    ),
    timeseries(
      'Usage that is not stored',
      'short',
      { '{{instance}}': 'millrace_usage_unacknowledged' },
      'Usage events in the memory of a gateway. They are lost if it is killed while NATS is down.',
    ),
  ],
};
