import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import {
  ConfigError,
  authConfig,
  cellConfig,
  docsConfig,
  healthConfig,
  httpConfig,
  inferenceConfig,
  loadConfig,
  logConfig,
  mailConfig,
  keyFeedConfig,
  natsConfig,
  postgresConfig,
  defaultFleet,
  demoConfig,
  fleetConfig,
  providersConfig,
  rateLimitConfig,
  restateConfig,
  secretsConfig,
  storageConfig,
  stripeConfig,
  telemetryConfig,
  valkeyConfig,
} from './index.ts';
import type { Environment, Variable } from './index.ts';

const all = [
  httpConfig,
  cellConfig,
  providersConfig,
  postgresConfig,
  valkeyConfig,
  natsConfig,
  keyFeedConfig,
  restateConfig,
  secretsConfig,
  logConfig,
  telemetryConfig,
  rateLimitConfig,
  docsConfig,
  inferenceConfig,
] as const;

const needed: Environment = {
  MILLRACE_POSTGRES_URL: 'postgres://u:p@127.0.0.1/millrace',
  MILLRACE_VALKEY_URL: 'redis://127.0.0.1:6379',
  MILLRACE_NATS_URLS: 'nats://127.0.0.1:4222, nats://127.0.0.1:4223',
  MILLRACE_KEY_FEED_KEYS: `feed:${Buffer.alloc(32, 8).toString('base64')}`,
  MILLRACE_RESTATE_INGRESS_URL: 'http://127.0.0.1:8080',
  MILLRACE_RESTATE_ADMIN_URL: 'http://127.0.0.1:9070',
  MILLRACE_RESTATE_IDENTITY_KEYS: 'publickeyv1_abc',
  MILLRACE_SEALING_KEYS: `one:${Buffer.alloc(32, 1).toString('base64')}`,
  MILLRACE_SEALING_KEY_ACTIVE: 'one',
};

const folder = mkdtempSync(join(tmpdir(), 'millrace-config-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

function report(fragments: Parameters<typeof loadConfig>[0], env: Environment): string {
  try {
    loadConfig(fragments, env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('The configuration was accepted.');
}

test('loadConfig needs only the required variables; all others have a default', () => {
  const config = loadConfig(all, needed);
  expect(config.http).toMatchObject({
    host: '127.0.0.1',
    port: 8080,
    trustedProxies: [],
    validateResponses: false,
  });
  expect(config.nats.urls).toEqual(['nats://127.0.0.1:4222', 'nats://127.0.0.1:4223']);
  expect(config.secrets.sealingKeys).toEqual([{ id: 'one', key: Buffer.alloc(32, 1) }]);
  expect(config.rateLimits).toEqual({
    defaultRpm: 60,
    fundedRpm: 600,
    anonymousRpm: 60,
    personRpm: 600,
    failedAuthRpm: 30,
  });
  expect(config.telemetry).toEqual({
    allowPlaintext: false,
    prometheusPort: null,
    prometheusHost: '127.0.0.1',
    otlpUrl: undefined,
    samplePercent: 1,
  });
  expect(config.providers).toMatchObject({ isDemo: false, list: null, file: null });
  expect([config.cell.id, config.docs.open, config.inference.widePenalties]).toEqual([0, false, false]);
});

test('loadConfig reports every wrong setting with the expected value and an example, and never a secret', async () => {
  const wrong: Environment = {
    MILLRACE_HTTP_HOST: 'example.com',
    MILLRACE_HTTP_PORT: '70000',
    MILLRACE_HTTP_PUBLIC_URL: 'ftp://x',
    MILLRACE_HTTP_TLS_CERT_FILE: '/does/not/exist.pem',
    MILLRACE_HTTP_TRUSTED_PROXIES: '10.0.0.0/8,proxy',
    MILLRACE_HTTP_TLS_TERMINATED_BY_PROXY: 'yes',
    MILLRACE_CELL: '1024',
    MILLRACE_PROVIDERS: '[{"id":"V1","variant":"V9"}]',
    MILLRACE_POSTGRES_URL: 'mysql://user:hunter2@127.0.0.1/db',
    MILLRACE_NATS_URLS: '',
    MILLRACE_SEALING_KEYS: 'one:hunter2',
    MILLRACE_SEALING_KEY_ACTIVE: 'two',
    MILLRACE_LOG_LEVEL: 'loud',
    MILLRACE_PROMETHEUS_PORT: 'metrics',
    MILLRACE_OPEN_DOCS: '1',
  };
  const text = report(all, wrong);
  expect(text).not.toContain('hunter2');
  await expect(text).toMatchFileSnapshot('./report.golden.txt');
});

describe('NAME_FILE', () => {
  const url = 'postgres://u:hunter2@127.0.0.1/millrace';

  test('gives a secret in a file, without its trailing newline', () => {
    for (const end of ['', '\n', '\r\n']) {
      const env = { MILLRACE_POSTGRES_URL_FILE: file('postgres-url', url + end) };
      expect(loadConfig([postgresConfig], env).postgres.url).toBe(url);
    }
    const padded = file('token', ' 16 characters or more \n');
    const text = report([healthConfig], { MILLRACE_HEALTH_TOKEN_FILE: padded });
    expect(text).toContain('MILLRACE_HEALTH_TOKEN_FILE names a file with a wrong value');
  });

  test('works for every secret of every process', () => {
    const fragments = [...all, authConfig, healthConfig, mailConfig, stripeConfig];
    const secrets = fragments.flatMap(({ variables }) =>
      Object.values<Variable>(variables).filter(({ secret }) => secret === true),
    );
    expect(secrets.length).toBeGreaterThanOrEqual(10);
    for (const { env } of secrets) {
      expect(report(fragments, { ...needed, [`${env}_FILE`]: '/does/not/exist', [env]: '' })).toContain(
        `${env}_FILE is "/does/not/exist"; the file cannot be read (ENOENT)`,
      );
    }
  });

  test('is refused together with the variable, and the report names both', () => {
    const env = { MILLRACE_POSTGRES_URL: url, MILLRACE_POSTGRES_URL_FILE: file('postgres-url', url) };
    const text = report([postgresConfig], env);
    expect(text).toContain('MILLRACE_POSTGRES_URL_FILE and MILLRACE_POSTGRES_URL are both set');
    expect(text).not.toContain('hunter2');
  });

  test('reports an empty file and a wrong value without the content of the file', () => {
    const empty = { MILLRACE_POSTGRES_URL_FILE: file('empty', '\n') };
    expect(report([postgresConfig], empty)).toContain('the file is empty');
    const wrong = { MILLRACE_POSTGRES_URL_FILE: file('wrong-url', 'mysql://u:hunter2@127.0.0.1/db') };
    const text = report([postgresConfig], wrong);
    expect(text).toContain('the file must contain the URL of the PostgreSQL database');
    expect(text).not.toContain('hunter2');
  });

  test('does not print a secret that was set in place of the path, and refuses other than small files', () => {
    const mistaken = report([postgresConfig], { MILLRACE_POSTGRES_URL_FILE: url });
    expect(mistaken).toContain('MILLRACE_POSTGRES_URL_FILE is not the absolute path of a file');
    expect(mistaken).not.toContain('hunter2');
    for (const path of ['/', '/dev/zero', file('large', 'x'.repeat(65_537))]) {
      const text = report([postgresConfig], { MILLRACE_POSTGRES_URL_FILE: path });
      expect(text, path).toContain('that is not a file of at most 64 KiB');
    }
  });

  test('is ignored for a setting that is not a secret', () => {
    expect(loadConfig([logConfig], { MILLRACE_LOG_LEVEL_FILE: '/does/not/exist' }).log.level).toBe('info');
  });
});

test('httpConfig requires TLS or a trusted proxy for a non-loopback address', () => {
  const cert = file('tls.crt', 'CERT');
  const key = file('tls.key', 'KEY');
  const beyond = { MILLRACE_HTTP_HOST: '0.0.0.0' };
  expect(report([httpConfig], beyond)).toContain(
    'MILLRACE_HTTP_HOST is "0.0.0.0", beyond loopback, without TLS',
  );
  const withProxy = { ...beyond, MILLRACE_HTTP_TLS_TERMINATED_BY_PROXY: 'true' };
  expect(report([httpConfig], withProxy)).toContain('MILLRACE_HTTP_TRUSTED_PROXIES is not set');
  expect(
    loadConfig([httpConfig], { ...withProxy, MILLRACE_HTTP_TRUSTED_PROXIES: '10.0.0.1' }).http.host,
  ).toBe('0.0.0.0');
  const withTls = { ...beyond, MILLRACE_HTTP_TLS_CERT_FILE: cert, MILLRACE_HTTP_TLS_KEY_FILE: key };
  expect(loadConfig([httpConfig], withTls).http).toMatchObject({ tlsCert: 'CERT', tlsKey: 'KEY' });
  expect(report([httpConfig], { ...beyond, MILLRACE_HTTP_TLS_CERT_FILE: cert })).toContain(
    'set both the certificate and the key',
  );
  for (const host of ['127.0.0.1', '127.8.8.8', '::1', 'localhost']) {
    expect(loadConfig([httpConfig], { MILLRACE_HTTP_HOST: host }).http.host).toBe(host);
  }
  for (const host of ['::', '192.168.1.1', '::ffff:10.0.0.1']) {
    expect(report([httpConfig], { MILLRACE_HTTP_HOST: host }), host).toContain('beyond loopback');
  }
});

test('httpConfig rejects a public URL over plain HTTP unless it is loopback', () => {
  const reading = (url: string) => ({ MILLRACE_HTTP_PUBLIC_URL: url });
  for (const url of ['http://10.0.0.5:8080', 'http://cloud.example.com', 'http://[2001:db8::1]:8080']) {
    const text = report([httpConfig], reading(url));
    expect(text).toContain(`MILLRACE_HTTP_PUBLIC_URL is "${url}", plain HTTP beyond loopback`);
    expect(text).toContain('serve it over HTTPS');
  }
  for (const url of [
    'http://127.0.0.1:8080',
    'http://[::1]:8080',
    'http://localhost:8080',
    'http://cloud.localhost',
    'https://cloud.example.com',
  ]) {
    expect(loadConfig([httpConfig], reading(url)).http.publicUrl).toBe(url);
  }
});

test('providersConfig accepts a variable or a file, but not both', () => {
  const list = '[{"id":"gpu-eu","variant":"V3"}]';
  const path = file('providers.json', list);
  const parsed = [{ id: 'gpu-eu', variant: 'V3', driver: 'incus', regions: [], clusters: [] }];
  expect(loadConfig([providersConfig], { MILLRACE_PROVIDERS: list }).providers.list).toEqual(parsed);
  expect(loadConfig([providersConfig], { MILLRACE_PROVIDERS_FILE: path }).providers.file).toEqual(parsed);
  const both = { MILLRACE_PROVIDERS: list, MILLRACE_PROVIDERS_FILE: path };
  expect(report([providersConfig], both)).toContain('both set');
});

const readProviders = (list: unknown) =>
  loadConfig([providersConfig], { MILLRACE_PROVIDERS: JSON.stringify(list) }).providers.list;

test('providersConfig fills in the defaults of regions and clusters', () => {
  const cluster = {
    name: 'eu-1',
    region: 'eu-north-2',
    endpoints: ['https://a:8443', 'https://b:8443'],
    credential: 'eu',
  };
  const provider = { id: 'own', variant: 'V8', regions: [{ region: 'eu-north-2' }], clusters: [cluster] };
  expect(readProviders([provider])).toEqual([
    {
      id: 'own',
      variant: 'V8',
      driver: 'incus',
      regions: [{ region: 'eu-north-2', customPorts: false }],
      clusters: [
        {
          name: 'eu-1',
          region: 'eu-north-2',
          endpoint: 'https://a:8443,https://b:8443',
          offer: 'virtual-machine',
          connectionType: 'ethernet',
          credential: 'eu',
          ports: { first: 20_000, last: 29_999 },
          settings: {},
        },
      ],
    },
  ]);
});

test('providersConfig gives the mock provider a default fleet', () => {
  expect(readProviders([{ id: 'mock', variant: 'mock' }])).toEqual(defaultFleet);
});

test('providersConfig reports the position of each invalid cluster', () => {
  const cluster = { name: 'a', region: 'eu-west-1', endpoint: 'https://a:8443' };
  const own = { id: 'own', variant: 'V8', regions: [{ region: 'eu-west-1' }, { region: 'eu' }] };
  const problems: [unknown, string][] = [
    [
      [{ ...own, clusters: [{ ...cluster, region: 'us' }] }],
      'at 0.clusters.0.region: is not among the regions',
    ],
    [[{ ...own, clusters: [cluster, cluster] }], 'cluster names must differ'],
    [[{ ...own, clusters: [{ name: 'a', region: 'eu-west-1' }] }], 'needs endpoint or endpoints'],
    [
      [{ ...own, clusters: [{ ...cluster, region: 'eu' }] }],
      'at 0.clusters.0.region: the API does not rent virtual-machine in this region: use one of us-central-1',
    ],
    [[{ ...own, clusters: [{ ...cluster, offer: 'bare-metal' }] }], 'the API does not rent bare-metal'],
    [[{ ...own, variant: 'private-cloud' }], 'at 0.id: must be private-cloud'],
    [[{ ...own, id: 'mock' }], 'at 0.id: is reserved for the variant of that name'],
    [[{ ...own, clusters: [{ ...cluster, password: 'x' }] }], 'at 0.clusters.0'],
    [[{ id: 'mock', variant: 'mock', driver: 'incus' }], 'at 0.driver: must be mock'],
    [[own, own], 'provider ids must differ'],
    [
      [{ ...own, clusters: [{ ...cluster, ports: { first: 3_000, last: 2_000 } }] }],
      'first must not be after last',
    ],
  ];
  for (const [list, expected] of problems) {
    expect(report([providersConfig], { MILLRACE_PROVIDERS: JSON.stringify(list) })).toContain(expected);
  }
});

test('fleetConfig reads credentials as file paths and rejects a file with other content', () => {
  const entry = { certificateFile: '/c', keyFile: '/k', serverCertificateFile: '/s' };
  const metal = { username: 'millrace', passwordFile: '/p' };
  const good = file('credentials.json', JSON.stringify({ 'eu-1': entry, 'eu-2': metal }));
  expect(loadConfig([fleetConfig], { MILLRACE_FLEET_CREDENTIALS_FILE: good }).fleet.credentials).toEqual({
    'eu-1': entry,
    'eu-2': { ...metal, serverCertificateFile: null },
  });
  expect(loadConfig([fleetConfig], {}).fleet.credentials).toEqual({});
  const bad = file('wrong.json', JSON.stringify({ 'eu-1': { key: 'hunter2' } }));
  const text = report([fleetConfig], { MILLRACE_FLEET_CREDENTIALS_FILE: bad });
  expect(text).toContain('MILLRACE_FLEET_CREDENTIALS_FILE');
  expect(text).not.toContain('hunter2');
});

test('storageConfig reports the position of each invalid storage node', () => {
  const node = {
    ...{ name: 'eu-1', region: 'eu-west-3', endpoint: 'https://10.8.0.2:8650', credential: 'eu' },
    ...{ vips: '10.8.0.10-10.8.0.250', capacityGb: 1_000 },
  };
  const next = { ...node, name: 'eu-2', vips: '10.8.0.251 - 10.8.1.250' };
  const read = (list: readonly unknown[]) =>
    loadConfig([storageConfig], { MILLRACE_STORAGE_NODES: JSON.stringify(list) }).storage.list;
  expect(read([node, next])).toMatchObject([
    { kind: 'nfs', settings: {}, vips: { first: '10.8.0.10', last: '10.8.0.250' } },
    { vips: { first: '10.8.0.251', last: '10.8.1.250' } },
  ]);
  const problems: readonly (readonly [readonly unknown[], string])[] = [
    [[{ ...node, vips: '10.8.0.250-10.8.0.10' }], 'at 0.vips: must be two IPv4 addresses'],
    [[{ ...node, vips: '10.8.0.0/24' }], 'at 0.vips: must be two IPv4 addresses'],
    [[{ ...node, endpoint: undefined }], 'at 0.endpoint: is required'],
    [[{ ...node, region: 'mock-region' }], 'at 0.kind: must be mock in mock-region'],
    [[{ ...node, region: 'nowhere' }], 'at 0.region'],
    [[{ ...node, password: 'x' }], 'at 0'],
    [[node, { ...next, name: 'eu-1' }], 'the names of storage nodes must be unique'],
    [[node, { ...next, vips: '10.8.0.250-10.8.1.250' }], 'at 1.vips: overlaps the addresses of eu-1'],
    [[node, { ...next, vips: '10.8.0.20-10.8.0.20' }], 'at 1.vips: overlaps the addresses of eu-1'],
  ];
  for (const [list, expected] of problems) {
    expect(report([storageConfig], { MILLRACE_STORAGE_NODES: JSON.stringify(list) })).toContain(expected);
  }
});

describe('MILLRACE_DEMO', () => {
  const providers = JSON.stringify([
    {
      ...{ id: 'own', variant: 'V8', driver: 'mock', regions: [{ region: 'eu-west-1' }] },
      clusters: [{ name: 'a', region: 'eu-west-1' }],
    },
  ]);
  const storage = JSON.stringify([
    { name: 'eu-1', region: 'eu-west-3', kind: 'mock', vips: '10.8.0.10-10.8.0.250', capacityGb: 1_000 },
  ]);
  const env = { MILLRACE_PROVIDERS: providers, MILLRACE_STORAGE_NODES: storage };

  test('is required to sell mock machines and mock storage to live keys', () => {
    const text = report([providersConfig, storageConfig], env);
    expect(text).toContain('live keys would pay for mock machines of own');
    expect(text).toContain('live keys would pay for mock storage of eu-1');
  });

  test('allows mock machines and mock storage for live keys', () => {
    const config = loadConfig([demoConfig, providersConfig, storageConfig], {
      ...env,
      MILLRACE_DEMO: 'true',
    });
    expect(config.demo.isDemo).toBe(true);
    expect(config.providers.list).toMatchObject([
      { id: 'own', driver: 'mock', clusters: [{ endpoint: 'mock:' }] },
    ]);
    expect(config.storage.list).toMatchObject([{ kind: 'mock', region: 'eu-west-3' }]);
  });
});

test('secretsConfig refuses a sealing key that gateways also have', () => {
  const env = { ...needed, MILLRACE_KEY_FEED_KEYS: `feed:${Buffer.alloc(32, 1).toString('base64')}` };
  expect(report([secretsConfig], env)).toMatch(/MILLRACE_KEY_FEED_KEYS has a key of MILLRACE_SEALING_KEYS/);
  expect(() => loadConfig([secretsConfig], needed)).not.toThrow();
});

test('secretsConfig requires distinct sealing keys that include the active one', () => {
  const twice = `${needed['MILLRACE_SEALING_KEYS']},${needed['MILLRACE_SEALING_KEYS']}`;
  expect(report([secretsConfig], { ...needed, MILLRACE_SEALING_KEYS: twice })).toContain('same id twice');
  expect(report([secretsConfig], { ...needed, MILLRACE_SEALING_KEY_ACTIVE: 'other' })).toContain(
    'not among MILLRACE_SEALING_KEYS',
  );
});

test('loadConfig refuses a collector of traces on another machine without TLS, and an authority without certificate', () => {
  const traces = { ...needed, MILLRACE_OTLP_TRACES_URL: 'http://10.0.0.9:4318/v1/traces' };
  expect(report(all, traces)).toMatch(/MILLRACE_OTLP_TRACES_URL names another machine without TLS/);
  expect(() => loadConfig(all, { ...traces, MILLRACE_ALLOW_PLAINTEXT_ENGINES: 'true' })).not.toThrow();
  const empty = { ...needed, MILLRACE_ENGINE_CA_FILE: file('empty.pem', '') };
  expect(report(all, empty)).toMatch(/MILLRACE_ENGINE_CA_FILE .*contains no PEM certificate/s);
});
