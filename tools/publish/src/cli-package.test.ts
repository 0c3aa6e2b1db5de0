import { readBuildInfo } from '@millrace/platform/release';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { scaledLimitMs } from '@millrace/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stageCli } from './cli-package.ts';
import { testedNodes } from './tested-nodes.fixture.ts';

/** Tests the CLI as users get it: packed, installed in an empty folder, and run on every supported Node. */

const root = path.join(import.meta.dirname, '../../..');
const nodes = testedNodes();
let scratch: string;
let home: string;
let packedBytes: number;

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program and returns its outcome without throwing. */
function run(
  program: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(
      program,
      args,
      { cwd, env: { HOME: scratch, PATH: process.env['PATH'], ...env } },
      (_error, stdout, stderr) => {
        resolve({ code: child.exitCode ?? 1, stdout, stderr });
      },
    );
  });
}

/** Runs the installed command on this Node only. */
function millrace(node: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const PATH = `${node}:/usr/bin:/bin`;
  return run(path.join(home, 'node_modules/.bin/millrace'), args, home, { PATH, ...env });
}

beforeAll(async () => {
  scratch = mkdtempSync(path.join(tmpdir(), 'millrace-cli-'));
  home = path.join(scratch, 'home');
  const staged = path.join(scratch, 'staged');
  await stageCli(staged);
  const packed = await run('npm', ['pack', '--silent', '--pack-destination', scratch], staged);
  const tarball = path.join(scratch, packed.stdout.trim());
  packedBytes = statSync(tarball).size;
  mkdirSync(home);
  writeFileSync(path.join(home, 'package.json'), '{}');
  const install = ['install', '--offline', '--no-audit', '--no-fund', tarball];
  expect(await run('npm', install, home)).toMatchObject({ code: 0 });
});

afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const golden = (name: string): string => readFileSync(path.join(root, 'apps/cli/golden', name), 'utf8');

test('CLI package: prints its help on each supported Node', async () => {
  for (const node of nodes) {
    const help = await millrace(node, ['--help']);
    expect(help.stderr, node).toBe('');
    expect(`$ millrace --help\n${help.stdout}`, node).toBe(golden('millrace.txt'));
    // One hand-written command and one generated from the contract.
    expect(golden('rental.txt')).toContain((await millrace(node, ['rental', 'create', '--help'])).stdout);
    expect(golden('admin.txt')).toContain((await millrace(node, ['admin', 'price', 'end', '--help'])).stdout);
    expect((await millrace(node, ['--version'])).stdout).toBe(`millrace ${readBuildInfo(null).version}\n`);
  }
});

test('CLI package: calls an API with hand-written and generated commands', async () => {
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ items: [{ name: request.headers.authorization }], nextCursor: null }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const env = { MILLRACE_API_KEY: 'mr_test_x', MILLRACE_API_URL: `http://127.0.0.1:${String(port)}` };
  const each = nodes.map(async (node) => {
    for (const args of [
      ['ssh-key', 'list', '--columns', 'name'],
      ['supplier', 'payout', 'list', '--json'],
    ]) {
      const { code, stdout, stderr } = await millrace(node, args, env);
      expect([code, stderr], args.join(' ')).toEqual([0, '']);
      expect(stdout).toContain('Bearer mr_test_x');
    }
  });
  await Promise.all(each);
  server.close();
});

test('CLI package: exits with the documented codes', async () => {
  const each = nodes.map(async (node) => {
    expect(await millrace(node, ['rental', 'lst'])).toMatchObject({ code: 3, stdout: '' });
    expect(await millrace(node, ['whoami'])).toMatchObject({ code: 4, stdout: '' });
    const unreachable = await millrace(node, ['whoami'], {
      MILLRACE_API_KEY: 'mr_test_x',
      // Port 1 is reserved, so no program listens on it.
      MILLRACE_API_URL: 'http://127.0.0.1:1',
    });
    expect(unreachable).toMatchObject({ code: 1, stdout: '' });
    expect(unreachable.stderr).toContain('is unreachable');
    expect(unreachable.stderr).not.toMatch(/^ +at /m);
  });
  await Promise.all(each);
});

/** Ends the process with this code if it opens a connection or resolves a name. */
const noNetwork = `--import=data:text/javascript,${encodeURIComponent(
  `import net from 'node:net'; import dns from 'node:dns';
   net.Socket.prototype.connect = () => process.exit(99); dns.lookup = () => process.exit(98);`,
)}`;

test('CLI package: help, versions and completions make no network call', async () => {
  const [node] = nodes;
  for (const args of [
    ['--help'],
    ['rental', 'create', '--help'],
    ['help', 'exit-codes'],
    ['--version'],
    ['completion', 'bash'],
    ['__complete', 'words', '--', 'rental', ''],
  ]) {
    expect((await millrace(node, args, { NODE_OPTIONS: noNetwork })).code, args.join(' ')).toBe(0);
  }
});

/** Processor time of a command, the shortest of three runs, because other work on the machine hardly changes it. */
async function processorMs(node: string, args: readonly string[]): Promise<number> {
  const runs: number[] = [];
  for (let nth = 0; nth < 3; nth += 1) runs.push(await processorMsOnce(node, args));
  return Math.min(...runs);
}

async function processorMsOnce(node: string, args: readonly string[]): Promise<number> {
  const timed = `TIMEFORMAT='%U %S'; time millrace ${args.join(' ')} > /dev/null`;
  const PATH = `${path.join(home, 'node_modules/.bin')}:${node}:/usr/bin:/bin`;
  const { stderr } = await run('bash', ['-c', timed], home, { PATH });
  const [user = Number.NaN, system = Number.NaN] = stderr.trim().split(' ').map(Number);
  return (user + system) * 1000;
}

test('CLI package: prints help within 200 ms of processor time', async () => {
  for (const node of nodes) {
    for (const args of [['--help'], ['rental', 'create', '--help'], ['admin', 'node', 'drain', '--help']]) {
      expect(await processorMs(node, args), `${args.join(' ')} on ${node}`).toBeLessThan(scaledLimitMs(200));
    }
  }
});

test('CLI package: completes in bash', async () => {
  const [node] = nodes;
  const script = `
    export PATH="${path.join(home, 'node_modules/.bin')}:${node}:$PATH"
    eval "$(millrace completion bash)"
    COMP_WORDS=(millrace rental te); COMP_CWORD=2; _millrace; (IFS=" "; echo "\${COMPREPLY[*]}")
    COMP_WORDS=(millrace key create --mo); COMP_CWORD=3; _millrace; (IFS=" "; echo "\${COMPREPLY[*]}")
  `;
  const { stdout } = await run('bash', ['-c', script], home);
  expect(stdout).toBe('terminate\n--mode --model\n');
});

test('CLI package: has no dependencies and the size that its README states', () => {
  const lock = JSON.parse(readFileSync(path.join(home, 'package-lock.json'), 'utf8')) as { packages: object };
  expect(Object.keys(lock.packages)).toEqual(['', 'node_modules/millrace']);
  const readme = readFileSync(path.join(root, 'apps/cli/README.md'), 'utf8');
  const statedBytes = Number(/at most (\d+) kB packed/.exec(readme)?.[1]) * 1000;
  expect(packedBytes).toBeLessThanOrEqual(statedBytes);
  // A limit far above the real size would not detect growth.
  expect(packedBytes).toBeGreaterThan(statedBytes * 0.6);
});
