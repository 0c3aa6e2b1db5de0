import { pbkdf2Sync, createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { productFolder } from '@millrace/platform/release';
import { describe, expect, it } from 'vitest';
import { renderEnvText } from './env-text.ts';
import { renderAdminEnv, renderCommonEnv, renderProcessEnvs, renderProxyEnv } from './env-files.ts';
import { renderNatsConf, renderRestateToml, renderValkeyConf } from './engine-files.ts';
import { defaultPorts, type InstallationFacts, type MachineFacts } from './layout.ts';
import {
  postgresPlace,
  renderEtcdEnv,
  renderInternalProxyEnv,
  renderPatroniYml,
} from './machines/engine-files.ts';
import { parseMachines, problemWithMachines } from './machines/machines.ts';
import { preparationScript, scramVerifier } from './postgres-roles.ts';
import { postgresEnvironment } from '../postgres-environment.ts';

const installation: InstallationFacts = {
  folder: '/etc/millrace',
  stateFolder: '/var/lib/millrace',
  ports: defaultPorts,
  publicUrl: 'https://cloud.example.com',
  hasIpv6: false,
  name: 'Example',
  cell: 0,
  natsPrefix: '',
  machines: null,
  postgresPrograms: '',
};

const machines: MachineFacts = {
  all: parseMachines('a=10.0.0.11,b=10.0.0.12,c=10.0.0.13'),
  self: { name: 'b', address: '10.0.0.12' },
  isFirst: false,
};
const onThree = { ...installation, machines, postgresPrograms: '/usr/lib/postgresql/15/bin' };
const machineSecrets = {
  superuserPassword: 'secret-1',
  replicationPassword: 'secret-2',
  rewindPassword: 'secret-3',
  patroniPassword: 'secret-4',
  natsRoutePassword: 'secret-5',
};

describe('renderEnvText', () => {
  it.each([
    ['a-b_c.d:/@%+,=', 'A=a-b_c.d:/@%+,=\n'],
    ['', 'A=\n'],
    ['Example Cloud', "A='Example Cloud'\n"],
    ['50 $ # "x" \\n', 'A=\'50 $ # "x" \\n\'\n'],
    ["Ada's Cloud", 'A="Ada\'s Cloud"\n'],
    ['Müller', "A='Müller'\n"],
  ])('writes %j so that systemd and Node read it without changes', (value, line) => {
    expect(renderEnvText([['A', value]])).toBe(line);
    expect(parseEnv(line)).toEqual({ A: value });
  });

  it.each(['a\nb', `'"`, `'\\`])('refuses %j, which the two read differently', (value) => {
    expect(() => renderEnvText([['A', value]])).toThrow(
      /A would be .*, which a settings file cannot contain/,
    );
  });
});

describe('the environment files', () => {
  it('contain only settings, each once', () => {
    const { api, worker, gateway } = renderProcessEnvs(installation, {
      activeSealingKey: '2026-08',
      identityPublicKey: 'publickeyv1_x',
    });
    const texts = {
      api,
      worker,
      gateway,
      admin: renderAdminEnv(installation),
      proxy: renderProxyEnv(installation),
    };
    const common = Object.keys(parseEnv(renderCommonEnv(installation)));
    for (const [role, text] of Object.entries(texts)) {
      const names = text
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('#'))
        .map((line) => line.split('=')[0]);
      expect(new Set([...names, ...common]).size, role).toBe(names.length + common.length);
    }
    expect(parseEnv(gateway)).not.toHaveProperty('MILLRACE_SEALING_KEYS_FILE');
  });

  it('names the port of the public address and the prefix of NATS', () => {
    const other = { ...installation, publicUrl: 'https://cloud.example.com:8443', natsPrefix: 'staging' };
    expect(parseEnv(renderProxyEnv(other))['HTTPS_BIND']).toBe(':8443');
    expect(parseEnv(renderProxyEnv(installation))['HTTPS_BIND']).toBe(':443');
    const both = renderProxyEnv({ ...installation, hasIpv6: true });
    expect(parseEnv(both)).toMatchObject({ HTTPS_BIND: ':443,:::443', HTTP_BIND: ':80,:::80' });
    expect(parseEnv(renderCommonEnv(other))['MILLRACE_NATS_PREFIX']).toBe('staging');
  });
});

describe('the configuration of the engines', () => {
  it('stores acknowledged messages of NATS on the disk', () => {
    expect(renderNatsConf(installation, null)).toContain('  sync_interval: always\n');
  });

  it('listens only on loopback', () => {
    const texts = [
      renderNatsConf(installation, null),
      renderValkeyConf(installation),
      renderRestateToml(installation),
    ];
    const addresses = texts.flatMap((text) => text.match(/\d+\.\d+\.\d+\.\d+/g) ?? []);
    expect(new Set(addresses)).toEqual(new Set(['127.0.0.1']));
    expect(renderValkeyConf(installation)).toContain('\nport 0\ntls-port 6390\n');
  });
});

describe('the files of three machines', () => {
  it('name the engines of all machines, and the processes of this one', () => {
    expect(parseEnv(renderCommonEnv(onThree))).toMatchObject({
      MILLRACE_NATS_URLS: 'tls://10.0.0.11:4222,tls://10.0.0.12:4222,tls://10.0.0.13:4222',
      MILLRACE_NATS_REPLICAS: '3',
    });
    const { api, worker } = renderProcessEnvs(onThree, { activeSealingKey: 'k', identityPublicKey: 'p' });
    expect(parseEnv(api)).toMatchObject({
      MILLRACE_HTTP_HOST: '10.0.0.12',
      MILLRACE_HTTP_TRUSTED_PROXIES: '127.0.0.1,10.0.0.11,10.0.0.12,10.0.0.13',
      MILLRACE_HEALTH_PROCESSES: [
        ...[
          'worker b=http://127.0.0.1:8081',
          'worker a=http://127.0.0.1:9181',
          'worker c=http://127.0.0.1:9182',
        ],
        ...[
          'gateway b=http://127.0.0.1:8083',
          'gateway a=http://127.0.0.1:9183',
          'gateway c=http://127.0.0.1:9184',
        ],
      ].join(','),
    });
    expect(parseEnv(worker)).toMatchObject({
      MILLRACE_RESTATE_INGRESS_URL: 'http://127.0.0.1:8181',
      MILLRACE_RESTATE_ENDPOINT_URL: 'http://127.0.0.1:9081',
    });
    expect(parseEnv(renderProxyEnv(onThree))).toMatchObject({
      API_1: '10.0.0.11:8080',
      GATEWAY_3: '10.0.0.13:8090',
    });
    expect(parseEnv(renderInternalProxyEnv(onThree))).toMatchObject({
      SELF: '10.0.0.12',
      PEER_1: '10.0.0.11',
      PEER_2: '10.0.0.13',
    });
    expect(postgresPlace(onThree)('millrace')).toBe(
      '10.0.0.11:5432,10.0.0.12:5432,10.0.0.13:5432/millrace?sslmode=verify-full&target_session_attrs=read-write',
    );
  });

  it('give the internal proxy each of its variables, and processes only addresses where it listens', () => {
    const config = readFileSync(join(productFolder, 'deploy/proxy/internal.cfg'), 'utf8');
    const used = [...config.matchAll(/\$\{([A-Z0-9_]+)\}/g)].map(([, name]) => name);
    expect(new Set(Object.keys(parseEnv(renderInternalProxyEnv(onThree))))).toEqual(new Set(used));
    const listens = [...config.matchAll(/^ {4}bind 127\.0\.0\.1:(\d+)$/gm)].map(([, port]) => Number(port));
    const { api, worker } = renderProcessEnvs(onThree, { activeSealingKey: 'k', identityPublicKey: 'p' });
    const own: readonly number[] = [defaultPorts.workerHealth, defaultPorts.gatewayHealth];
    const named = [...`${api}${worker}`.matchAll(/http:\/\/127\.0\.0\.1:(\d+)/g)]
      .map(([, port]) => Number(port))
      .filter((port) => !own.includes(port));
    expect(new Set(named)).toEqual(new Set(listens));
  });

  it('let only the machines with TLS reach PostgreSQL, and only as logins with a password', () => {
    const config = JSON.parse(renderPatroniYml(onThree, machineSecrets).replace(/^#.*\n/, '')) as {
      postgresql: { pg_hba: readonly string[] };
    };
    const remote = config.postgresql.pg_hba.filter((line) => !line.startsWith('local '));
    expect(remote.length).toBeGreaterThan(0);
    for (const line of remote) {
      expect(line).toMatch(/^hostssl \w+ \w+ (10\.0\.0\.1[123]|127\.0\.0\.1)\/32 scram-sha-256$/);
    }
  });

  it('require certificates between etcd members, NATS servers and nodes of Restate', () => {
    expect(parseEnv(renderEtcdEnv(onThree))).toMatchObject({
      ETCD_CLIENT_CERT_AUTH: 'true',
      ETCD_PEER_CLIENT_CERT_AUTH: 'true',
      ETCD_INITIAL_CLUSTER_STATE: 'new',
    });
    const nats = renderNatsConf(onThree, machineSecrets);
    expect(nats).toContain('server_name: "millrace-b"');
    expect(nats).toContain('    verify: true');
    expect(nats).toContain('"tls://route:secret-5@10.0.0.13:6222"');
    const restate = renderRestateToml(onThree);
    expect(restate).toContain('require-client-auth = true');
    expect(restate).toContain('auto-provision = false');
    expect(restate).toContain('[ingress]\nbind-ip = "127.0.0.1"');
  });

  it('let only the first machine create the cluster of Restate', () => {
    const first = { ...onThree, machines: { ...machines, isFirst: true } };
    expect(renderRestateToml(first)).toContain('auto-provision = true');
  });

  it.each([
    'a=10.0.0.11,b=10.0.0.12',
    'a=10.0.0.11,b=10.0.0.12,b=10.0.0.13',
    'a=10.0.0.11,b=10.0.0.12,c=10.0.0.12',
    'a=10.0.0.11,b=10.0.0.12,c=db.example.com',
    'A=10.0.0.11,b=10.0.0.12,c=10.0.0.13',
  ])('refuse %s as machines', (list) => {
    expect(problemWithMachines(list)).toMatch(/is not a list of three machines/);
  });
});

describe('scramVerifier', () => {
  it('matches the proof of a client with the password', () => {
    const [, iterations, salt = '', storedKey] =
      /^SCRAM-SHA-256\$(\d+):([^$]+)\$([^:]+):/.exec(scramVerifier('pencil', Buffer.from('a salt'))) ?? [];
    const salted = pbkdf2Sync('pencil', Buffer.from(salt, 'base64'), Number(iterations), 32, 'sha256');
    const clientKey = createHmac('sha256', salted).update('Client Key').digest();
    expect(createHash('sha256').update(clientKey).digest('base64')).toBe(storedKey);
  });
});

describe('preparationScript', () => {
  const url = (login: string): string =>
    `postgres://${login}:hunter2@127.0.0.1:5432/millrace?sslmode=verify-full`;
  const urls = {
    millrace_owner: url('millrace_owner'),
    millrace_api_1: url('millrace_api_2'),
    millrace_worker_1: url('millrace_worker_1'),
    millrace_admin_1: url('millrace_admin_1'),
  };
  const script = preparationScript(urls, { certificateFile: "/it's/server.pem", keyFile: '/server.key' });

  it('contains no password, and quotes paths', () => {
    expect(script).not.toContain('hunter2');
    expect(script).toContain("alter system set ssl_cert_file = '/it''s/server.pem';");
  });

  it('sets no password of a login that the operator replaced', () => {
    expect(script).toContain('alter role millrace_worker_1 login password');
    expect(script).not.toContain('alter role millrace_api');
  });
});

describe('postgresEnvironment', () => {
  const options = { caFile: '/ca.pem', name: 'test' };

  it('verifies the server if the URL requires it', () => {
    const url = 'postgres://u:p%40@db1:5433,db2/d?sslmode=verify-full';
    expect(postgresEnvironment(url, options)).toMatchObject({
      ...{ PGHOST: 'db1,db2', PGPORT: '5433,5432', PGUSER: 'u', PGPASSWORD: 'p@', PGDATABASE: 'd' },
      ...{ PGSSLMODE: 'verify-full', PGSSLROOTCERT: '/ca.pem' },
    });
  });

  it('refuses a wrong URL without printing the password', () => {
    const render = () => postgresEnvironment('postgres://u:hunter2@/d', options);
    expect(render).toThrow(/^The URL of the database is not valid: it must name a host/);
  });
});
