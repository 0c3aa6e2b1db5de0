import { z } from 'zod';
import { fragment } from './fragment.ts';
import type { ConfigProblem } from './fragment.ts';
import { hostOf, isLoopback, isPlainHttpBeyondLoopback } from '../net/loopback.ts';
import { checkEngineTls, engineTls } from './engine-tls.ts';
import { sealingKey } from './sealing-key.ts';
import { values } from './values.ts';

const httpVariables = {
  host: {
    env: 'MILLRACE_HTTP_HOST',
    schema: values.host.default('127.0.0.1'),
    expected: 'an address to listen on',
    example: '127.0.0.1',
  },
  port: {
    env: 'MILLRACE_HTTP_PORT',
    schema: values.port.default(8080),
    expected: 'a TCP port, 0 to 65535 (0 selects any free port)',
    example: '8080',
  },
  publicUrl: {
    env: 'MILLRACE_HTTP_PUBLIC_URL',
    schema: values.url('http', 'https').nullable().default(null),
    expected: 'the URL that clients use, without a path',
    example: 'https://api.example.com',
  },
  tlsCert: {
    env: 'MILLRACE_HTTP_TLS_CERT_FILE',
    schema: values.fileText.nullable().default(null),
    expected: 'the path of a PEM certificate chain',
    example: '/etc/millrace/tls.crt',
  },
  tlsKey: {
    env: 'MILLRACE_HTTP_TLS_KEY_FILE',
    schema: values.fileText.nullable().default(null),
    expected: 'the path of the PEM private key of the certificate',
    example: '/etc/millrace/tls.key',
  },
  tlsCertFile: {
    env: 'MILLRACE_HTTP_TLS_CERT_FILE',
    schema: values.text.nullable().default(null),
    expected: 'the path of a PEM certificate chain',
    example: '/etc/millrace/tls.crt',
  },
  tlsKeyFile: {
    env: 'MILLRACE_HTTP_TLS_KEY_FILE',
    schema: values.text.nullable().default(null),
    expected: 'the path of the PEM private key of the certificate',
    example: '/etc/millrace/tls.key',
  },
  trustedProxies: {
    env: 'MILLRACE_HTTP_TRUSTED_PROXIES',
    schema: values.listOf(values.cidr).default([]),
    expected: 'a comma-separated list of addresses or CIDR blocks whose X-Forwarded-For is trusted',
    example: '10.0.0.0/8,2001:db8::/32',
  },
  tlsTerminatedByProxy: {
    env: 'MILLRACE_HTTP_TLS_TERMINATED_BY_PROXY',
    schema: values.boolean.default(false),
    expected: 'true or false',
    example: 'true',
  },
  validateResponses: {
    env: 'MILLRACE_HTTP_VALIDATE_RESPONSES',
    schema: values.boolean.default(false),
    expected: 'true or false',
    example: 'true',
  },
} as const;

interface HttpValues {
  readonly host: string;
  readonly publicUrl: string | null;
  readonly tlsCert: string | null;
  readonly tlsKey: string | null;
  readonly trustedProxies: readonly string[];
  readonly tlsTerminatedByProxy: boolean;
}

/** Keys must never cross a network unencrypted, so a non-loopback address needs TLS here or in a proxy. */
function checkHttp(http: HttpValues): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  if ((http.tlsCert === null) !== (http.tlsKey === null)) {
    const missing = http.tlsCert === null ? httpVariables.tlsCert : httpVariables.tlsKey;
    problems.push({
      env: missing.env,
      problem: 'is not set; set both the certificate and the key',
      example: missing.example,
    });
  }
  if (http.tlsTerminatedByProxy && http.trustedProxies.length === 0) {
    const { env, example } = httpVariables.trustedProxies;
    problems.push({ env, problem: 'is not set; list the proxy that terminates TLS', example });
  }
  const encrypted = http.tlsCert !== null || http.tlsTerminatedByProxy;
  if (!isLoopback(http.host) && !encrypted) {
    problems.push({
      env: httpVariables.host.env,
      problem: `is ${JSON.stringify(http.host)}, beyond loopback, without TLS; set MILLRACE_HTTP_TLS_CERT_FILE and MILLRACE_HTTP_TLS_KEY_FILE, or MILLRACE_HTTP_TLS_TERMINATED_BY_PROXY=true with MILLRACE_HTTP_TRUSTED_PROXIES`,
      example: '127.0.0.1',
    });
  }
  if (http.publicUrl !== null && isInsecureForBrowsers(http.publicUrl)) {
    problems.push({
      env: httpVariables.publicUrl.env,
      problem: `is ${JSON.stringify(http.publicUrl)}, plain HTTP beyond loopback: passwords and keys would cross the network unencrypted, and browsers disable features that the console needs; serve it over HTTPS, here or in a proxy`,
      example: httpVariables.publicUrl.example,
    });
  }
  return problems;
}

/** Browsers treat only loopback addresses and these names as secure without TLS. */
function isInsecureForBrowsers(publicUrl: string): boolean {
  const url = new URL(publicUrl);
  return isPlainHttpBeyondLoopback(url) && !hostOf(url).endsWith('.localhost');
}

export const httpConfig = fragment('http', httpVariables, checkHttp);

export const cellConfig = fragment('cell', {
  id: {
    env: 'MILLRACE_CELL',
    schema: values.wholeNumber(0, 1023).default(0),
    expected: 'the number of this cell, 0 to 1023; it is part of every id created here',
    example: '0',
  },
});

export const secretsConfig = fragment(
  'secrets',
  {
    sealingKeys: {
      env: 'MILLRACE_SEALING_KEYS',
      schema: values.listOf(sealingKey),
      expected: 'a comma-separated list of id:key, each key 32 random bytes in base64',
      example: '2026-08:<output of openssl rand -base64 32>',
      secret: true,
    },
    activeSealingKey: {
      env: 'MILLRACE_SEALING_KEY_ACTIVE',
      schema: values.text,
      expected: 'the id of the sealing key for new secrets',
      example: '2026-08',
    },
    /** Only to compare: `keyFeedConfig` checks them. */
    keyFeedKeys: {
      env: 'MILLRACE_KEY_FEED_KEYS',
      schema: values.listOf(z.string()).default([]),
      expected: 'a comma-separated list of id:key',
      example: '2026-11:<output of openssl rand -base64 32>',
      secret: true,
    },
  },
  ({ sealingKeys, activeSealingKey, keyFeedKeys }) => {
    const ids = sealingKeys.map(({ id }) => id);
    const problems: ConfigProblem[] = [];
    const secrets = new Set(sealingKeys.map(({ key }) => key.toString('base64')));
    if (keyFeedKeys.some((entry) => secrets.has(entry.slice(entry.indexOf(':') + 1)))) {
      problems.push({
        env: 'MILLRACE_KEY_FEED_KEYS',
        problem: 'has a key of MILLRACE_SEALING_KEYS, which gateways must not know; create another one',
      });
    }
    if (new Set(ids).size !== ids.length) {
      problems.push({ env: 'MILLRACE_SEALING_KEYS', problem: 'names the same id twice' });
    }
    if (!ids.includes(activeSealingKey)) {
      problems.push({
        env: 'MILLRACE_SEALING_KEY_ACTIVE',
        problem: `names ${JSON.stringify(activeSealingKey)}, which is not among MILLRACE_SEALING_KEYS`,
      });
    }
    return problems;
  },
);

export const logConfig = fragment('log', {
  level: {
    env: 'MILLRACE_LOG_LEVEL',
    schema: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
    expected: 'fatal, error, warn, info, debug, trace or silent',
    example: 'info',
  },
});

const telemetryVariables = {
  allowPlaintext: engineTls.allowPlaintext,
  prometheusPort: {
    env: 'MILLRACE_PROMETHEUS_PORT',
    schema: values.port.nullable().default(null),
    expected: 'the port that serves metrics, 0 to 65535',
    example: '9464',
  },
  prometheusHost: {
    env: 'MILLRACE_PROMETHEUS_HOST',
    schema: values.host.default('127.0.0.1'),
    expected: 'the address on which metrics are served',
    example: '10.7.0.5',
  },
  otlpUrl: {
    env: 'MILLRACE_OTLP_TRACES_URL',
    schema: values.url('http', 'https').optional(),
    expected: 'the URL of an OTLP/HTTP trace collector',
    example: 'http://127.0.0.1:4318/v1/traces',
  },
  samplePercent: {
    env: 'MILLRACE_TRACE_SAMPLE_PERCENT',
    schema: values.wholeNumber(0, 100).default(1),
    expected: 'the percentage of traces to record, 0 to 100',
    example: '10',
  },
} as const;

function checkTelemetry({
  otlpUrl,
  allowPlaintext,
}: {
  readonly otlpUrl?: string | undefined;
  readonly allowPlaintext: boolean;
}): readonly ConfigProblem[] {
  if (otlpUrl === undefined) return [];
  const url = new URL(otlpUrl);
  const address = { host: hostOf(url), encrypted: url.protocol === 'https:' };
  const withTls = { ...telemetryVariables.otlpUrl, example: 'https://traces.example.com:4318/v1/traces' };
  return checkEngineTls(withTls, [address], allowPlaintext);
}

export const telemetryConfig = fragment('telemetry', telemetryVariables, checkTelemetry);

export const rateLimitConfig = fragment('rateLimits', {
  defaultRpm: {
    env: 'MILLRACE_RATE_LIMIT_DEFAULT_RPM',
    schema: values.wholeNumber(1, 1_000_000).default(60),
    expected: 'requests per minute of an organisation whose deposits are below 5 USD',
    example: '60',
  },
  fundedRpm: {
    env: 'MILLRACE_RATE_LIMIT_FUNDED_RPM',
    schema: values.wholeNumber(1, 1_000_000).default(600),
    expected: 'requests per minute of an organisation whose deposits have reached 5 USD',
    example: '600',
  },
  anonymousRpm: {
    env: 'MILLRACE_RATE_LIMIT_ANONYMOUS_RPM',
    schema: values.wholeNumber(1, 1_000_000).default(60),
    expected: 'requests per minute of one client address without a key',
    example: '60',
  },
  personRpm: {
    env: 'MILLRACE_RATE_LIMIT_PERSON_RPM',
    schema: values.wholeNumber(1, 1_000_000).default(600),
    expected: 'requests per minute of one signed-in user, 1 to 1000000',
    example: '600',
  },
  failedAuthRpm: {
    env: 'MILLRACE_RATE_LIMIT_FAILED_AUTH_RPM',
    schema: values.wholeNumber(1, 1_000_000).default(30),
    expected: 'rejected keys per minute of one client address',
    example: '30',
  },
});

export const docsConfig = fragment('docs', {
  open: {
    env: 'MILLRACE_OPEN_DOCS',
    schema: values.boolean.default(false),
    expected: 'true to serve the OpenAPI documents without a key, or false',
    example: 'true',
  },
});

export const catalogConfig = fragment('catalog', {
  open: {
    env: 'MILLRACE_OPEN_CATALOG',
    schema: values.boolean.default(true),
    expected: 'true to show offers and prices at /v2/catalog without sign-in, or false',
    example: 'true',
  },
});

export const inferenceConfig = fragment('inference', {
  widePenalties: {
    env: 'MILLRACE_WIDE_PENALTIES',
    schema: values.boolean.default(false),
    expected: 'true to accept chat penalties from -2 to 2 instead of 0 to 1, or false',
    example: 'true',
  },
});
