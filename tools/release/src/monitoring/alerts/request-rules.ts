import { always, level, perMinute, type AlertRule } from './alert-rule.ts';

const page = 'requests';
const model = { gen_ai_request_model: 'm' };

export const requestRules: readonly AlertRule[] = [
  {
    name: 'MillraceApiErrors',
    expr: `sum(rate(http_server_request_duration_seconds_count{status=~"5.."}[5m]))
  / sum(rate(http_server_request_duration_seconds_count[5m])) > 0.05`,
    forMinutes: 3,
    severity: 'page',
    summary: 'More than 5 % of the requests to the API fail.',
    page,
    windowMinutes: 5,
    test: {
      series: {
        'http_server_request_duration_seconds_count{status="500"}': perMinute(0, 6, 5),
        'http_server_request_duration_seconds_count{status="200"}': perMinute(95, 95, 95),
      },
    },
  },
  {
    name: 'MillraceApiErrorBudget',
    expr: `sum(rate(http_server_request_duration_seconds_count{status=~"5.."}[1h]))
  / sum(rate(http_server_request_duration_seconds_count[1h])) > 0.01`,
    forMinutes: 30,
    severity: 'ticket',
    summary: 'More than 1 % of the requests to the API have failed for an hour.',
    page,
    windowMinutes: 60,
    test: {
      series: {
        'http_server_request_duration_seconds_count{status="500"}': perMinute(0, 2, 1),
        'http_server_request_duration_seconds_count{status="200"}': perMinute(99, 99, 99),
      },
    },
  },
  {
    name: 'MillraceApiSlow',
    expr: `histogram_quantile(0.95, sum by (le) (rate(http_server_request_duration_seconds_bucket{operation!~".*[eE]vent.*"}[10m]))) > 2.5`,
    forMinutes: 10,
    severity: 'ticket',
    summary: 'One in 20 requests to the API takes more than 2.5 seconds.',
    page,
    windowMinutes: 10,
    test: {
      series: {
        'http_server_request_duration_seconds_bucket{le="2.5"}': perMinute(100, 90, 95),
        'http_server_request_duration_seconds_bucket{le="5"}': perMinute(100, 100, 100),
        'http_server_request_duration_seconds_bucket{le="+Inf"}': perMinute(100, 100, 100),
      },
    },
  },
  {
    name: 'MillraceGatewayErrors',
    expr: `sum by (route) (rate(millrace_gateway_request_duration_seconds_count{status=~"5.."}[5m]))
  / sum by (route) (rate(millrace_gateway_request_duration_seconds_count[5m])) > 0.05`,
    forMinutes: 3,
    severity: 'page',
    summary: 'More than 5 % of the inference requests of a route fail.',
    page,
    windowMinutes: 5,
    test: {
      series: {
        'millrace_gateway_request_duration_seconds_count{route="/v1/chat/completions",status="503"}':
          perMinute(0, 6, 5),
        'millrace_gateway_request_duration_seconds_count{route="/v1/chat/completions",status="200"}':
          perMinute(95, 95, 95),
      },
      labels: { route: '/v1/chat/completions' },
    },
  },
  {
    name: 'MillraceEngineErrors',
    expr: `sum by (gen_ai_request_model) (rate(gen_ai_server_request_duration_seconds_count{error_type="failed"}[5m]))
  / sum by (gen_ai_request_model) (rate(gen_ai_server_request_duration_seconds_count[5m])) > 0.1`,
    forMinutes: 3,
    severity: 'page',
    summary: 'More than 10 % of the calls to the engines of a model fail.',
    page,
    windowMinutes: 5,
    test: {
      series: {
        'gen_ai_server_request_duration_seconds_count{gen_ai_request_model="m",error_type="failed"}':
          perMinute(0, 11, 10),
        'gen_ai_server_request_duration_seconds_count{gen_ai_request_model="m",error_type="ok"}': perMinute(
          90,
          90,
          90,
        ),
      },
      labels: model,
    },
  },
  {
    name: 'MillraceFirstTokenSlow',
    expr: `histogram_quantile(0.95, sum by (le, gen_ai_request_model) (rate(gen_ai_server_time_to_first_token_seconds_bucket[10m]))) > 5`,
    forMinutes: 10,
    severity: 'ticket',
    summary: 'One in 20 streams of a model waits more than 5 seconds for its first token.',
    page,
    windowMinutes: 10,
    test: {
      series: {
        'gen_ai_server_time_to_first_token_seconds_bucket{gen_ai_request_model="m",le="5"}': perMinute(
          100,
          90,
          95,
        ),
        'gen_ai_server_time_to_first_token_seconds_bucket{gen_ai_request_model="m",le="7.5"}': perMinute(
          100,
          100,
          100,
        ),
        'gen_ai_server_time_to_first_token_seconds_bucket{gen_ai_request_model="m",le="+Inf"}': perMinute(
          100,
          100,
          100,
        ),
      },
      labels: model,
    },
  },
  {
    name: 'MillraceModelOverloaded',
    expr: `sum by (gen_ai_request_model) (increase(millrace_gateway_queue_seconds_count{outcome="refused"}[10m])) > 60`,
    forMinutes: 10,
    severity: 'ticket',
    summary: 'More than six requests a minute found the queue of a model too long.',
    page,
    windowMinutes: 10,
    test: {
      series: {
        'millrace_gateway_queue_seconds_count{gen_ai_request_model="m",outcome="refused"}': perMinute(
          0,
          7,
          6,
        ),
      },
      labels: model,
    },
  },
  {
    name: 'MillraceNoFreeGpus',
    expr: `max by (region, gpu_type) (millrace_fleet_gpus_free{mode="live"}) == 0
  and max by (region, gpu_type) (millrace_fleet_gpus{mode="live"}) > 0`,
    forMinutes: 60,
    severity: 'ticket',
    summary: 'No GPU of a type can be sold in a region.',
    page: 'fleet',
    test: {
      series: {
        'millrace_fleet_gpus_free{region="r",gpu_type="h100",mode="live"}': level(8, 0, 1),
        'millrace_fleet_gpus{region="r",gpu_type="h100",mode="live"}': always(8),
      },
      labels: { region: 'r', gpu_type: 'h100' },
    },
  },
];
