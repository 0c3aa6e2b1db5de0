import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  openGuideMachine,
  readGuide,
  report,
  SLOW_MS,
  startLlama,
  waitUntilReady,
  type GuideMachine,
} from './guide-machine.ts';

// Follows the guide on a Debian machine without git, npm and Node. The tests are in the order of the guide, and each continues where
// the one before it ended.

const guide = readGuide('install.md');
const follow = (heading: string): Promise<string> => guide.follow(machine, heading);
const MIB = 1_048_576;
const MAX_PACKAGE_MIB = 80;

let machine: GuideMachine;

beforeAll(async () => {
  machine = await openGuideMachine();
});
afterAll(() => machine[Symbol.asyncDispose]());

test('the machine has no git, npm, Node or package of Millrace', async () => {
  const { stdout } = await machine.run('command -v git npm node millrace-admin || true');
  expect(stdout).toBe('');
});

test('1 and 2: engines and Millrace install from packages', async () => {
  await follow('1. Engines');
  await follow('2. Millrace');
  const [deb = ''] = readdirSync(machine.shared).filter((name) => name.endsWith('.deb'));
  const bytes = statSync(path.join(machine.shared, deb)).size;
  report(
    `package: ${(bytes / MIB).toFixed(1)} MiB; installed: ${await machine.must('du -sm /usr/lib/millrace')}`,
  );
  expect(bytes).toBeLessThan(MAX_PACKAGE_MIB * MIB);
  await machine.must(
    'cd /usr/lib/millrace/deploy/monitoring && test -s alerts/millrace.yml -a -s dashboards/api.json',
  );
});

test('3: init prepares the machine, and everything starts', async () => {
  const printed = await follow('3. Prepare and start');
  expect(printed).toContain('Operator ada@example.com, organisation example-cloud.');
  await waitUntilReady(machine);
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
    const { code, stdout } = await machine.run(guide.commandsOf('4. Check').join('\n'));
    return code === 0 ? 'nothing' : stdout;
  };
  await expect.poll(check, { timeout: SLOW_MS }).toBe('nothing');
});

test('the public address is also served on IPv6, if the machine has it', async () => {
  const flags = "--silent --cacert /etc/millrace/ca.pem --resolve 'cloud.example.com:443:[::1]'";
  const request = `curl ${flags} https://cloud.example.com/readyz`;
  const printed = await machine.must(
    `if [ -s /proc/net/if_inet6 ]; then ${request}; else echo without IPv6; fi`,
  );
  expect(printed).toMatch(/"ready":true|without IPv6/);
});

test('5: a rental on the simulated fleet, and a chat with llama-server', async () => {
  await startLlama(machine, { port: 8_000 });
  const printed = await follow('5. First machine and first model');
  expect(printed).toMatch(/Rental \d+ \(first\) is running/);
  expect(printed).toMatch(/Terminated rental \d+ \(first\)/);
  expect(printed).toMatch(/tiny .*\$0\.000/);
});

test('the machine starts again after a reboot, and the balance is what it was', async () => {
  const before = await machine.must('millrace balance --json');
  await machine.host.must('podman', 'restart', '--time', '90', 'machine');
  await machine.must('until systemctl is-active --quiet millrace.target postgresql; do sleep 0.2; done');
  // Files of a container that podman writes at each start.
  await machine.must(
    'grep -q cloud.example.com /etc/hosts || echo 127.0.0.1 cloud.example.com >> /etc/hosts',
  );
  await waitUntilReady(machine);
  expect(await machine.must('millrace balance --json')).toBe(before);
});

test('removal stops everything and keeps the configuration', async () => {
  await machine.must('apt-get remove -y millrace-server');
  expect(await machine.must("systemctl list-units --no-legend --state=running 'millrace-*'")).toBe('');
  expect(await machine.must('ls /etc/millrace/api')).toContain('sealing.keys');
});
