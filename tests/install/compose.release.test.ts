import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openContainerHost, type ContainerHost, type Ran } from './container-host.ts';
import { releaseFiles } from './release-files.ts';
import { makeEngineImages } from './trial-images.ts';

// Runs the compose file of a release. The engines are images of this test, because the public ones cannot be downloaded here. The tests
// are in the order of the guide, and each continues where the one before it ended.

const repository = path.join(import.meta.dirname, '../..');
const roles = ['trial', 'api', 'worker', 'gateway'];
const NODE = '/usr/lib/millrace/node/bin/node';
const API_URL = 'http://localhost:8080';
const INFERENCE_URL = 'http://localhost:8090';

let host: ContainerHost;
let composeFile: string;
let composeWords: readonly string[];

beforeAll(async () => {
  host = await openContainerHost();
  const folder = path.join(host.folder, 'compose');
  await mkdir(folder);
  composeFile = path.join(folder, 'compose.yaml');
  const files = await releaseFiles(host.folder);
  const fileOf = (ending: string): string =>
    files.find((file) => file.endsWith(ending)) ?? expect.fail(`no file ${ending}`);
  await copyFile(fileOf('compose.yaml'), composeFile);
  await host.must('podman', 'load', '--quiet', '--input', fileOf('_oci.tar'));
  const images = await makeEngineImages(host);
  // The place for containers has no bridges, so "trial" uses its network, which has only loopback.
  const override = path.join(folder, 'override.yaml');
  await writeFile(override, 'services:\n  trial:\n    network_mode: host\n');
  const variables = Object.entries(images).map(([name, image]) => `${name}=${image}`);
  composeWords = [...variables, 'podman-compose', '-f', composeFile, '-f', override];
});
afterAll(() => host[Symbol.asyncDispose]());

const compose = (...words: readonly string[]): Promise<string> => host.must('env', ...composeWords, ...words);
const containerOf = (service: string): string => `millrace-trial_${service}_1`;
const logsOf = (service: string): Promise<Ran> => host.run('podman', 'logs', containerOf(service));

/** Runs JavaScript in the container of a service. */
const evaluate = (service: string, code: string): Promise<string> =>
  host.must('podman', 'exec', containerOf(service), NODE, '-p', code);

const seconds = (start: number): string => ((performance.now() - start) / 1_000).toFixed(1);

/** Waits for the address in the log, as a user does, and returns the last one. */
async function waitForBanner(): Promise<string> {
  let banner = '';
  await expect
    .poll(
      async () => {
        const { stdout } = await logsOf('trial');
        banner = stdout.slice(stdout.lastIndexOf('Millrace is ready'));
        return banner;
      },
      { timeout: 300_000, interval: 500 },
    )
    .toContain(`Millrace is ready at ${API_URL}`);
  return banner;
}

function valueIn(banner: string, label: string): string {
  return new RegExp(`^  ${label} +(\\S+)$`, 'm').exec(banner)?.[1] ?? expect.fail(`no ${label}: ${banner}`);
}

const post = (url: string, headers: Readonly<Record<string, string>>, body: object): Promise<string> =>
  host.must(
    'curl',
    ...['--silent', '--show-error', '--fail-with-body', '--header', 'Content-Type: application/json'],
    ...Object.entries(headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`]),
    ...['--data', JSON.stringify(body), url],
  );

test('the compose file publishes ports only on loopback', async () => {
  const text = await readFile(composeFile, 'utf8');
  const [, ports = ''] = /\n +ports:\n((?: +- .*\n)+)/.exec(text) ?? [];
  const published = ports.trim().split(/\n */);
  expect(published).toHaveLength(2);
  expect(published.filter((line) => !line.startsWith('- 127.0.0.1:'))).toEqual([]);
  expect(text.match(/\bports:/g)).toHaveLength(1);
});

let banner: string;

test('up ends with the console, the demo and a password to sign in', async () => {
  const start = performance.now();
  await compose('up', '--detach');
  banner = await waitForBanner();
  process.stdout.write(`up: ${seconds(start)} s\n`);
  expect(await host.must('curl', '--silent', '--fail', `${API_URL}/console/`)).toContain('<html');
  const credentials = { email: valueIn(banner, 'Sign in as'), password: valueIn(banner, 'Password') };
  const signedIn = await post(`${API_URL}/auth/sign-in/email`, { Origin: API_URL }, credentials);
  expect(JSON.parse(signedIn)).toMatchObject({ user: { email: 'demo@example.com' } });
  expect((await logsOf('trial')).stdout).toContain('The history of the demo is loaded.');
});

test('every role runs without root, capabilities and a writable root', async () => {
  for (const role of roles) {
    const read = (file: string): string => `fs.readFileSync("/proc/1/${file}", "utf8")`;
    const printed = await evaluate(role, `${read('status')} + ${read('mountinfo')}`);
    expect(printed, role).toMatch(/^Uid:\t10001\t10001\t10001\t10001$/m);
    expect(printed, role).toMatch(/^CapEff:\t0{16}$/m);
    expect(printed, role).toMatch(/^CapBnd:\t0{16}$/m);
    expect(printed, role).toMatch(/^NoNewPrivs:\t1$/m);
    const root = printed.split('\n').find((line) => line.split(' ')[4] === '/');
    expect(root?.split(' ')[5], role).toMatch(/^ro\b/);
  }
});

test('llama-server completes a chat through the gateway', async () => {
  const headers = { Authorization: `Bearer ${valueIn(banner, 'Live key')}` };
  const messages = [{ role: 'user', content: 'Hello!' }];
  const request = { model: 'millrace-tiny', temperature: 0, messages };
  // A busy machine may refuse a request with 503, which clients repeat.
  const completion = (): Promise<string> =>
    post(`${INFERENCE_URL}/v1/chat/completions`, headers, request).catch((error: Error) => error.message);
  await expect.poll(completion, { interval: 1_000 }).toContain('"content":"Hello! What can I do for you?"');
});

/** The tenants' command with the test key of the demo. */
function millrace(...words: readonly string[]): Promise<string> {
  const settings = [
    `MILLRACE_API_KEY=${valueIn(banner, 'Test key')}`,
    `MILLRACE_API_URL=${API_URL}`,
    `XDG_CONFIG_HOME=${path.join(host.folder, 'config')}`,
  ];
  const program = [path.join(repository, 'tools/run'), path.join(repository, 'apps/cli/src/main.ts')];
  return host.must('env', ...settings, ...program, ...words);
}

test('the test key rents a machine, logs in to it and terminates it', async () => {
  const identity = path.join(host.folder, 'identity');
  await host.must('ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', identity);
  await millrace('ssh-key', 'add', `${identity}.pub`, '--name', 'laptop');
  const created = await millrace('rental', 'create', '--gpu', 'h100', '--name', 'first', '--yes');
  expect(created).toMatch(/Rental \d+ \(first\) is running/);
  const hostname = await millrace('ssh', 'first', '--identity', identity, '--', 'hostname');
  expect(hostname).toMatch(/^rental-\d+$/);
  const terminated = await millrace('rental', 'terminate', 'first', '--yes');
  expect(terminated).toMatch(/Terminated rental \d+ \(first\)/);
});

const startsOfContainers = (): Promise<string> =>
  host.must('podman', 'inspect', '--format', '{{.Id}} {{.State.StartedAt}}', ...roles.map(containerOf));

test('a second up changes nothing', async () => {
  const before = await startsOfContainers();
  await compose('up', '--detach');
  expect(await startsOfContainers()).toBe(before);
});

test('after down and up, the password, the keys and the data are the same', async () => {
  await compose('down');
  expect(await host.must('podman', 'ps', '--all', '--quiet')).toBe('');
  const start = performance.now();
  await compose('up', '--detach');
  expect(await waitForBanner()).toBe(banner);
  process.stdout.write(`up again: ${seconds(start)} s\n`);
  expect((await logsOf('trial')).stdout).toContain('The database is up to date.');
  expect(await millrace('ssh-key', 'list')).toContain('laptop');
});

test('down with the volumes removes everything', async () => {
  await compose('down', '--volumes');
  expect(await host.must('podman', 'volume', 'ls', '--quiet')).toBe('');
});
