import { chatModel, llamaCommand, natsCommand, restateCommand } from '@millrace/services';
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openContainerHost, type ContainerHost } from './container-host.ts';
import { startMachine, type Machine } from './machine.ts';
import { releaseFiles } from './release-files.ts';

// Follows the guide on a Debian machine without git, npm and Node. The tests are in the order of the guide, and each continues where
// the one before it ended.

const repository = path.join(import.meta.dirname, '../..');
const guide = readFileSync(path.join(repository, 'docs/guides/install.md'), 'utf8');
const MIB = 1_048_576;
const MAX_PACKAGE_MIB = 80;
const SLOW_MS = 300_000;

let host: ContainerHost;
let machine: Machine;
let shared: string;

beforeAll(async () => {
  host = await openContainerHost();
  shared = path.join(host.folder, 'files');
  mkdirSync(shared);
  for (const file of await releaseFiles(host.folder))
    copyFileSync(file, path.join(shared, path.basename(file)));
  // The reader downloads these two programs, and has an engine and a DNS name.
  copyFileSync(natsCommand('').file, path.join(shared, 'nats-server'));
  copyFileSync(restateCommand('').file, path.join(shared, 'restate-server'));
  signAsReader(shared);
  machine = await startMachine(host, shared);
  await machine.must('echo 127.0.0.1 cloud.example.com >> /etc/hosts');
});
afterAll(() => host[Symbol.asyncDispose]());

/** Signs with a key of the test as the publisher does with theirs. */
function signAsReader(folder: string): void {
  const [publicKey, secretKey] = ['millrace.pub', 'millrace.key'].map((name) => path.join(folder, name)) as [
    string,
    string,
  ];
  execFileSync('minisign', ['-G', '-W', '-f', '-p', publicKey, '-s', secretKey], { stdio: 'ignore' });
  execFileSync('minisign', ['-S', '-s', secretKey, '-m', path.join(folder, 'SHA256SUMS')], {
    stdio: 'ignore',
  });
}

/** Printed with the results of the tests, and not compared with a limit, because it depends on the machine. */
const report = (line: string): void => void process.stderr.write(`${line.trim()}\n`);

/** The commands below a heading of the guide, without those that need the internet or an earlier installation. */
function commandsOf(heading: string): readonly string[] {
  const section = guide.split(/^(?=## )/m).find((each) => each.startsWith(`## ${heading}\n`));
  const blocks = [...(section ?? '').matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = '']) => block);
  expect(blocks, heading).not.toEqual([]);
  return blocks.filter((block) => !block.startsWith('# '));
}

/** Runs the commands below a heading, and returns what they printed and the seconds they took. */
async function follow(heading: string): Promise<string> {
  const printed: string[] = [];
  const start = performance.now();
  for (const block of commandsOf(heading)) printed.push(await machine.must(block));
  report(`${heading}: ${((performance.now() - start) / 1_000).toFixed(1)} s`);
  return printed.join('');
}

test('the machine has no git, npm, Node or package of Millrace', async () => {
  const { stdout } = await machine.run('command -v git npm node millrace-admin || true');
  expect(stdout).toBe('');
});

test('1 and 2: engines and Millrace install from packages', async () => {
  await follow('1. Engines');
  await follow('2. Millrace');
  const [deb = ''] = readdirSync(shared).filter((name) => name.endsWith('.deb'));
  const bytes = statSync(path.join(shared, deb)).size;
  report(
    `package: ${(bytes / MIB).toFixed(1)} MiB; installed: ${await machine.must('du -sm /usr/lib/millrace')}`,
  );
  expect(bytes).toBeLessThan(MAX_PACKAGE_MIB * MIB);
});

test('3: init prepares the machine, and everything starts', async () => {
  const printed = await follow('3. Prepare and start');
  expect(printed).toContain('Operator ada@example.com, organisation example-cloud.');
  await expect
    .poll(() => machine.run('curl -fsS --cacert /etc/millrace/ca.pem https://cloud.example.com/readyz'), {
      timeout: SLOW_MS,
    })
    .toMatchObject({
      code: 0,
    });
  const failed = await machine.must('systemctl --failed --no-legend');
  expect(failed).not.toContain('millrace');
});

test('every service is hardened, and none can read the secrets of another', async () => {
  const exposure = async (name: string): Promise<number> => {
    const printed = await machine.must(
      `systemd-analyze security --no-pager millrace-${name}.service | tail -1`,
    );
    return Number(/level for \S+: ([\d.]+)/.exec(printed)?.[1] ?? Number.NaN);
  };
  for (const name of ['api', 'worker', 'gateway', 'nats', 'valkey', 'restate', 'proxy', 'backup']) {
    expect(await exposure(name), name).toBeLessThanOrEqual(2);
  }
  // It mounts file systems.
  expect(await exposure('storage')).toBeLessThanOrEqual(7);
  for (const [reader, other] of [
    ['api', 'worker'],
    ['worker', 'gateway'],
    ['gateway', 'api'],
  ]) {
    const read = `setpriv --reuid millrace-${reader} --regid millrace-${reader} --clear-groups cat /etc/millrace/${other}/nats.seed`;
    expect((await machine.run(read)).stderr).toContain('Permission denied');
  }
  expect(await machine.must('stat -c %U:%a /etc/millrace/authority/ca.key')).toBe('root:600\n');
});

test('4: doctor finds nothing', async () => {
  // On a slow machine, some service is still starting.
  const check = async (): Promise<string> => {
    const { code, stdout } = await machine.run(commandsOf('4. Check').join('\n'));
    return code === 0 ? 'nothing' : stdout;
  };
  await expect.poll(check, { timeout: SLOW_MS }).toBe('nothing');
});

test('5: a rental on the simulated fleet, and a chat with llama-server', async () => {
  cpSync(chatModel.file, path.join(shared, path.basename(chatModel.file)));
  await startLlama();
  const printed = await follow('5. First machine and first model');
  expect(printed).toMatch(/Rental \d+ \(first\) is running/);
  expect(printed).toMatch(/Terminated rental \d+ \(first\)/);
  expect(printed).toMatch(/tiny .*\$0\.000/);
});

/** Its folder has its own C library, so it runs on any Debian. */
async function startLlama(): Promise<void> {
  const command = llamaCommand({ port: 8_000, apiKeyFile: '' });
  const top = command.file.slice(0, command.file.indexOf('/usr/lib/'));
  // Its links are relative.
  cpSync(top, path.join(shared, 'llama.cpp'), { recursive: true, verbatimSymlinks: true });
  const place = (text: string): string => text.replaceAll(top, '/root/files/llama.cpp');
  const flags = [
    '--model',
    `/root/files/${path.basename(chatModel.file)}`,
    '--host',
    '127.0.0.1',
    '--port',
    '8000',
  ];
  const [libraryFlag = '', libraries = '', server = ''] = command.args;
  const words = [command.file, libraryFlag, libraries, server].map(place);
  await machine.must(
    `systemd-run --unit=llama --working-directory=${place(command.folder)} ${[...words, ...flags].join(' ')}`,
  );
  await machine.must('until curl -fsS http://127.0.0.1:8000/health; do sleep 0.2; done');
}

test('the machine starts again after a reboot, and the balance is what it was', async () => {
  const before = await machine.must('millrace balance --json');
  await host.must('podman', 'restart', '--time', '90', 'machine');
  await machine.must('until systemctl is-active --quiet millrace.target postgresql; do sleep 0.2; done');
  // Files of a container that podman writes at each start.
  await machine.must(
    'grep -q cloud.example.com /etc/hosts || echo 127.0.0.1 cloud.example.com >> /etc/hosts',
  );
  await expect
    .poll(() => machine.run('curl -fsS --cacert /etc/millrace/ca.pem https://cloud.example.com/readyz'), {
      timeout: SLOW_MS,
    })
    .toMatchObject({ code: 0 });
  expect(await machine.must('millrace balance --json')).toBe(before);
});

test('removal stops everything and keeps the configuration', async () => {
  await machine.must('apt-get remove -y millrace-server');
  expect(await machine.must("systemctl list-units --no-legend --state=running 'millrace-*'")).toBe('');
  expect(await machine.must('ls /etc/millrace/api')).toContain('sealing.keys');
});
