import { createHash, X509Certificate } from 'node:crypto';
import { appendFileSync, chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeAuthority } from '@millrace/testing';
import { describe, expect, it } from 'vitest';
import { CommandError } from '../command.ts';
import { checkPublicCertificate, type PublicCertificate } from './certificates.ts';
import { createFolders, ownGroup, readFiles } from './init.fixture.ts';
import { InstallationFiles } from './installation-files.ts';
import { defaultPorts, type InstallationFacts, type MachineFacts } from './layout.ts';
import { chooseMachines } from './choose-machines.ts';
import { joinFileName, writeJoinFile } from './machines/join-file.ts';
import { machineNamed, parseMachines } from './machines/machines.ts';
import type { GroupId } from './system-groups.ts';
import { writeFiles } from './write-files.ts';

/** Writes the files of an installation without a database. */

const now = new Date('2026-08-04T12:00:00Z');

function createInstallation(): InstallationFacts {
  const folders = createFolders();
  const publicUrl = 'https://cloud.example.com';
  const network = { publicUrl, hasIpv6: false, ports: defaultPorts };
  return {
    ...folders,
    ...network,
    name: 'Example Cloud',
    cell: 0,
    natsPrefix: '',
    machines: null,
    postgresPrograms: '',
  };
}

async function write(
  installation: InstallationFacts,
  { groupId = ownGroup, publicCertificate = null, time = now }: Partial<WriteOptions> = {},
) {
  const files = new InstallationFiles(installation.folder, groupId);
  const written = await writeFiles(files, installation, {
    ...{ groupId, publicCertificate, now: time, patroniSettings: '# of a test\n' },
  });
  return { ...files.report(), hasPrivateCertificate: written.hasPrivateCertificate };
}

interface WriteOptions {
  readonly groupId: GroupId;
  readonly publicCertificate: PublicCertificate | null;
  readonly time: Date;
}

const machinesOf = (name: string): MachineFacts => {
  const all = parseMachines('a=10.0.0.11,b=10.0.0.12,c=10.0.0.13');
  return { all, self: machineNamed(all, name), isFirst: name === 'a' };
};

describe('a join file', () => {
  it('gives another machine the same secrets, and its own certificates', async () => {
    const [first, second] = [createInstallation(), createInstallation()];
    await write({ ...first, machines: machinesOf('a') });
    const firstFiles = new InstallationFiles(first.folder, ownGroup);
    const joinPath = await writeJoinFile(firstFiles, joinFacts);
    expect(readFiles(first.folder)[joinFileName]?.mode).toBe(0o600);

    const secondFiles = new InstallationFiles(second.folder, ownGroup);
    await chooseMachines(secondFiles, { join: joinPath, machine: 'b' });
    await write({ ...second, machines: machinesOf('b') });
    const [one, other] = [contents(first.folder), contents(second.folder)];
    for (const file of ['api/sealing.keys', 'worker/nats.seed', 'restate/identity.pem', 'ca.pem']) {
      expect(other[file], file).toBe(one[file]);
    }
    const certificate = new X509Certificate(other['etcd/server.pem'] ?? '');
    expect(certificate.subjectAltName).toContain('IP Address:10.0.0.12');
    expect(certificate.verify(new X509Certificate(one['ca.pem'] ?? '').publicKey)).toBe(true);
    await expect(chooseMachines(secondFiles, { join: joinPath, machine: 'c' })).rejects.toThrow(
      /has other machines/,
    );
  });

  it('is refused by a machine with the secrets of another installation', async () => {
    const [first, second] = [createInstallation(), createInstallation()];
    for (const installation of [first, second]) {
      await write({ ...installation, machines: machinesOf('a') });
    }
    const joinPath = await writeJoinFile(new InstallationFiles(first.folder, ownGroup), joinFacts);
    rmSync(join(second.folder, 'millrace.env'));
    const files = new InstallationFiles(second.folder, ownGroup);
    await expect(chooseMachines(files, { join: joinPath, machine: 'b' })).rejects.toThrow(
      /belongs to another installation/,
    );
  });

  it('is refused if it is incomplete', async () => {
    const { folder } = createInstallation();
    const path = `${folder}-join.json`;
    writeFileSync(path, JSON.stringify({ ...joinFacts, files: {} }));
    const files = new InstallationFiles(folder, ownGroup);
    await expect(chooseMachines(files, { join: path, machine: 'b' })).rejects.toThrow(/not a complete file/);
  });
});

const joinFacts = {
  publicUrl: 'https://cloud.example.com',
  organisation: 'Example Cloud',
  machines: machinesOf('a').all,
};

const contents = (folder: string): Record<string, string> =>
  Object.fromEntries(Object.entries(readFiles(folder)).map(([name, { content }]) => [name, content]));

describe('writeFiles', () => {
  it('writes each file with the mode of its readers', async () => {
    const installation = createInstallation();
    await write(installation);
    const modes = Object.entries(readFiles(installation.folder)).map(
      ([name, { mode }]) => `${mode.toString(8)} ${name}`,
    );
    const ofRole = (role: string, names: readonly string[]) => names.map((name) => `640 ${role}/${name}`);
    const tls = ['server.key', 'server.pem'];
    expect(modes.toSorted()).toEqual(
      [
        ...[
          '.init.json',
          'admin.env',
          'api.env',
          'ca.pem',
          'gateway.env',
          'millrace.env',
          'proxy.env',
          'worker.env',
        ].map((name) => `644 ${name}`),
        ...['admin/postgres-owner.url', 'admin/postgres.url', 'admin/valkey.url', 'authority/ca.key'].map(
          (name) => `600 ${name}`,
        ),
        ...ofRole('api', [
          'auth.secret',
          'key-feed.keys',
          'nats.seed',
          'postgres.url',
          'sealing.keys',
          ...tls,
        ]),
        ...ofRole('api', ['health.token', 'valkey.url']),
        ...ofRole('gateway', ['health.token', 'key-feed.keys', 'nats.seed', 'valkey.url', ...tls]),
        ...ofRole('nats', ['nats.conf', 'users.conf', ...tls]),
        ...ofRole('postgres', tls),
        ...ofRole('proxy', ['ca.pem', 'public.pem']),
        ...ofRole('restate', ['identity.pem', 'restate.toml']),
        ...ofRole('valkey', ['users.acl', 'valkey.conf', ...tls]),
        ...ofRole('worker', [
          'health.token',
          'key-feed.keys',
          'nats.seed',
          'postgres.url',
          'sealing.keys',
          'valkey.url',
        ]),
      ].toSorted(),
    );
  });

  it('changes nothing the second time', async () => {
    const installation = createInstallation();
    const first = await write(installation);
    const before = readFiles(installation.folder);
    const second = await write(installation);
    expect(readFiles(installation.folder)).toEqual(before);
    expect(second).toMatchObject({ written: [], edited: [], unchanged: first.written });
  });

  it.each([
    'ca.pem',
    'api/server.pem',
    'api/sealing.keys',
    'gateway/key-feed.keys',
    'proxy/public.pem',
    'worker.env',
    'nats/users.conf',
    'restate/restate.toml',
  ])('writes only %s again after it was deleted', async (file) => {
    const installation = createInstallation();
    await write(installation);
    const before = contents(installation.folder);
    rmSync(join(installation.folder, file));
    expect(await write(installation)).toMatchObject({ written: [file] });
    const after = contents(installation.folder);
    expect({ ...after, [file]: '' }).toEqual({ ...before, [file]: '' });
    expect(after[file]).not.toBe('');
  });

  it('continues after a run that ended at any file', async () => {
    const complete = createInstallation();
    await write(complete);
    const installation = createInstallation();
    let existing: Record<string, string> = {};
    for (let ended = 0; ; ended += 7) {
      const outcome = await write(installation, { groupId: stopAfter(ended) }).catch(String);
      if (typeof outcome !== 'string') break;
      expect(outcome).toContain('the machine stopped');
      const found = contents(installation.folder);
      expect(found).toMatchObject(existing);
      existing = Object.fromEntries(
        Object.entries(found).filter(([name]) => !/\.init\.json$|\.new$/.test(name)),
      );
    }
    expect(Object.keys(existing).length).toBeGreaterThan(20);
    await write(installation);
    expect(Object.keys(contents(installation.folder))).toEqual(Object.keys(contents(complete.folder)));
    expect(contents(installation.folder)).toMatchObject(existing);
    expect(await write(installation)).toMatchObject({ written: [], edited: [] });
  });

  it('does not overwrite a configuration file that an operator changed', async () => {
    const installation = createInstallation();
    await write(installation);
    const file = join(installation.folder, 'worker.env');
    appendFileSync(file, 'MILLRACE_PROVIDERS_FILE=/etc/millrace/providers.json\n');
    const edited = readFileSync(file, 'utf8');
    chmodSync(file, 0o600);
    const renamed = { ...installation, publicUrl: 'https://new.example.com', name: "Ada's" };
    const report = await write(renamed);
    expect(report).toMatchObject({ written: ['proxy/public.pem', 'millrace.env'], edited: ['worker.env'] });
    expect(readFileSync(file, 'utf8')).toBe(edited);
    expect(readFiles(installation.folder)['worker.env']?.mode).toBe(0o600);
    expect(contents(installation.folder)['millrace.env']).toContain('"Ada\'s"');
  });

  it('gives a new key of a process to the server', async () => {
    const installation = createInstallation();
    await write(installation);
    rmSync(join(installation.folder, 'api/valkey.url'));
    rmSync(join(installation.folder, 'gateway/nats.seed'));
    expect((await write(installation)).written.toSorted()).toEqual(
      ['api/valkey.url', 'gateway/nats.seed', 'nats/users.conf', 'valkey/users.acl'].toSorted(),
    );
    const files = contents(installation.folder);
    const { password } = new URL(files['api/valkey.url'] ?? '');
    expect(files['valkey/users.acl']).toContain(createHash('sha256').update(password).digest('hex'));
  });

  it('gives the operator a user of Valkey for everything', async () => {
    const installation = createInstallation();
    await write(installation);
    const files = contents(installation.folder);
    const { username, password } = new URL(files['admin/valkey.url'] ?? '');
    const hash = createHash('sha256').update(password).digest('hex');
    expect(username).toBe('all');
    expect(files['valkey/users.acl']).toContain(`user all on #${hash} `);
    expect(files['admin.env']).toContain(`MILLRACE_VALKEY_URL_FILE=${installation.folder}/admin/valkey.url`);
  });

  it('refuses different copies of a shared secret', async () => {
    const installation = createInstallation();
    await write(installation);
    writeFileSync(join(installation.folder, 'worker/sealing.keys'), '2026-08:other\n');
    await expect(write(installation)).rejects.toThrow(/must have the same content and differ/);
  });

  it('issues a new certificate for a new key', async () => {
    const installation = createInstallation();
    await write(installation);
    rmSync(join(installation.folder, 'nats/server.key'));
    expect((await write(installation)).written).toEqual(['nats/server.key', 'nats/server.pem']);
  });

  it('works without the key of the authority until it needs a certificate', async () => {
    const installation = createInstallation();
    await write(installation);
    rmSync(join(installation.folder, 'authority/ca.key'));
    expect(await write(installation)).toMatchObject({ written: [] });
    rmSync(join(installation.folder, 'nats/server.pem'));
    await expect(write(installation)).rejects.toThrow(/Put the key back as .*authority\/ca.key/);
  });

  it('repairs the mode of a secret', async () => {
    const installation = createInstallation();
    await write(installation);
    chmodSync(join(installation.folder, 'api/sealing.keys'), 0o644);
    await write(installation);
    expect(readFiles(installation.folder)['api/sealing.keys']?.mode).toBe(0o640);
  });

  it('lets only its own user read secrets where owners cannot be changed', async () => {
    const installation = createInstallation();
    await write(installation, { groupId: async () => null });
    expect(readFiles(installation.folder)['api/sealing.keys']?.mode).toBe(0o600);
  });

  it('writes nothing if a user of a service does not exist', async () => {
    const installation = createInstallation();
    const groupId: GroupId = async (group) => {
      if (group === 'postgres') throw new CommandError('The group postgres does not exist.');
      return ownGroup(group);
    };
    await expect(write(installation, { groupId })).rejects.toThrow('The group postgres does not exist.');
    expect(() => readFiles(installation.folder)).toThrow('ENOENT');
  });

  it('uses the public certificate of the operator, also to replace another one', async () => {
    const installation = createInstallation();
    expect((await write(installation)).hasPrivateCertificate).toBe(true);
    const authority = await makeAuthority();
    const publicCertificate = await authority.issue({ name: 'public', dnsNames: ['cloud.example.com'] });
    const replaced = await write(installation, { publicCertificate });
    expect(replaced).toMatchObject({ written: ['proxy/public.pem'], hasPrivateCertificate: false });
    expect(contents(installation.folder)['proxy/public.pem']).toBe(
      publicCertificate.certificate + publicCertificate.key,
    );
    expect(await write(installation)).toMatchObject({ written: [] });
  });

  it('issues the private certificate again for another address, and before it ends', async () => {
    const installation = createInstallation();
    await write(installation);
    const publicCertificate = (): X509Certificate =>
      new X509Certificate(contents(installation.folder)['proxy/public.pem'] ?? '');
    const renamed = { ...installation, publicUrl: 'https://new.example.com' };
    expect((await write(renamed)).written).toContain('proxy/public.pem');
    expect(publicCertificate().checkHost('new.example.com')).toBe('new.example.com');
    const endsAt = publicCertificate().validToDate.getTime();
    const day = 86_400_000;
    expect((await write(renamed, { time: new Date(endsAt - 31 * day) })).written).toEqual([]);
    expect((await write(renamed, { time: new Date(endsAt - 29 * day) })).written).toEqual([
      'proxy/public.pem',
    ]);
  });

  it('never replaces the certificate of an operator', async () => {
    const installation = createInstallation();
    const authority = await makeAuthority();
    const publicCertificate = await authority.issue({ name: 'public', dnsNames: ['cloud.example.com'] });
    await write(installation, { publicCertificate });
    const renamed = { ...installation, publicUrl: 'https://new.example.com' };
    const later = await write(renamed, { time: new Date('2100-01-01T00:00:00Z') });
    expect(later.written).not.toContain('proxy/public.pem');
    expect(later.hasPrivateCertificate).toBe(false);
  });
});

describe('checkPublicCertificate', () => {
  it('accepts only a certificate of the host with its key, before it expires', async () => {
    const authority = await makeAuthority();
    const given = await authority.issue({ name: 'public', dnsNames: ['cloud.example.com'] });
    const other = await authority.issue({ name: 'other', dnsNames: ['cloud.example.com'] });
    const { validToDate } = new X509Certificate(given.certificate);
    const at = new Date(validToDate.getTime() - 1000);
    const check = (pair: PublicCertificate, host = 'cloud.example.com', time = at) =>
      checkPublicCertificate(pair, host, time);
    check(given);
    expect(() => check({ ...given, key: other.key })).toThrow('does not belong to the certificate');
    expect(() => check(given, 'api.example.com')).toThrow('does not name api.example.com');
    expect(() => check(given, undefined, new Date(validToDate.getTime() + 1000))).toThrow('has expired');
    expect(() => check({ ...given, certificate: 'x' })).toThrow('no certificate in PEM');
  });
});

/** Fails at the nth file that gets an owner, as a run that is killed there. */
function stopAfter(files: number): GroupId {
  let calls = 0;
  // The check of all groups, and the folders.
  const before = 16;
  return async (group) => {
    calls += 1;
    if (calls > before + files) throw new Error('the machine stopped');
    return ownGroup(group);
  };
}
