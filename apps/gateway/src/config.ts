import {
  fragment,
  gatewayFragments,
  healthPorts,
  loadConfig,
  values,
  type Environment,
} from '@millrace/platform/config';

const gatewayConfig = fragment('gateway', {
  healthPort: healthPorts.gateway,
  longestRequestMs: {
    env: 'MILLRACE_POT_LONGEST_REQUEST_MS',
    schema: values.wholeNumber(1_000, 86_400_000).default(600_000),
    expected: 'the maximum duration of an inference request, in milliseconds; the same as for the workers',
    example: '600000',
  },
  silenceMs: {
    env: 'MILLRACE_GATEWAY_SILENCE_MS',
    schema: values.wholeNumber(100, 3_600_000).default(60_000),
    expected: 'how long an engine may pause within a response, in milliseconds, 100 to 3600000',
    example: '60000',
  },
  bodyBytes: {
    env: 'MILLRACE_GATEWAY_BODY_BYTES',
    schema: values.wholeNumber(1_024, 268_435_456).default(16_777_216),
    expected: 'the maximum size of a request body, in bytes, 1024 to 268435456',
    example: '16777216',
  },
  llamaSlotCache: {
    env: 'MILLRACE_LLAMA_SLOT_CACHE',
    schema: values.boolean.default(false),
    expected: 'true if every llama.cpp engine runs with --cache-ram 0 and serves only these gateways',
    example: 'true',
  },
  consoleOrigins: {
    env: 'MILLRACE_CONSOLE_ORIGINS',
    schema: values.listOf(values.origin).default([]),
    expected: 'a comma-separated list of the origins of consoles whose pages may call this gateway',
    example: 'https://console.example.com',
  },
  drainMs: {
    env: 'MILLRACE_DRAIN_MS',
    schema: values.wholeNumber(0, 3_600_000).default(60_000),
    expected: 'how long streams may continue at shutdown, in milliseconds, 0 to 3600000',
    example: '60000',
  },
});

export function loadGatewayConfig(env?: Environment) {
  return loadConfig([...gatewayFragments, gatewayConfig], env);
}

export type GatewayConfig = ReturnType<typeof loadGatewayConfig>;
