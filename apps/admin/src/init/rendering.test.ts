import { pbkdf2Sync, createHash, createHmac } from 'node:crypto';
import { parseEnv } from 'node:util';
import { describe, expect, it } from 'vitest';
import { renderEnvText } from './env-text.ts';
import { renderAdminEnv, renderCommonEnv, renderProcessEnvs, renderProxyEnv } from './env-files.ts';
import { renderNatsConf, renderRestateToml, renderValkeyConf } from './engine-files.ts';
import { defaultPorts, type InstallationFacts } from './layout.ts';
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
    expect(renderNatsConf(installation)).toContain('  sync_interval: always\n');
  });

  it('listens only on loopback', () => {
    const texts = [renderNatsConf, renderValkeyConf, renderRestateToml].map((render) => render(installation));
    const addresses = texts.flatMap((text) => text.match(/\d+\.\d+\.\d+\.\d+/g) ?? []);
    expect(new Set(addresses)).toEqual(new Set(['127.0.0.1']));
    expect(renderValkeyConf(installation)).toContain('\nport 0\ntls-port 6390\n');
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
