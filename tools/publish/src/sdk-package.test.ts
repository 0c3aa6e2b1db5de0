import { readBuildInfo } from '@millrace/platform/release';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sdkPackage, stagePackage } from './stage.ts';
import { testedNodes } from './tested-nodes.fixture.ts';

/** Tests the package as users get it: packed, installed in an empty folder, run on every supported Node, and compiled against. */

const run = promisify(execFile);
const root = path.join(import.meta.dirname, '../../..');
const readme = readFileSync(path.join(root, 'packages/sdk/README.md'), 'utf8');
let scratch: string;
let staged: string;
let home: string;
let packedBytes: number;

beforeAll(async () => {
  scratch = mkdtempSync(path.join(tmpdir(), 'millrace-sdk-'));
  staged = path.join(scratch, 'staged');
  home = path.join(scratch, 'home');
  await stagePackage(sdkPackage, staged);
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', scratch], { cwd: staged });
  const tarball = path.join(scratch, stdout.trim());
  packedBytes = statSync(tarball).size;
  mkdirSync(home);
  writeFileSync(path.join(home, 'package.json'), '{"type":"module"}');
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], { cwd: home });
});

afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const program = `
import { createServer } from 'node:http';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { Millrace, NotFoundError } from '@millrace/sdk';
import { verifyWebhook } from '@millrace/sdk/webhooks';

const server = createServer((request, response) => {
  response.setHeader('content-type', 'application/json');
  if (request.url.startsWith('/v2/api-keys?')) response.end('{"items":[{"name":"two"}],"nextCursor":null}');
  else if (request.url === '/v2/api-keys') response.end('{"items":[{"name":"one"}],"nextCursor":"c"}');
  else if (request.url === '/v1/chat/completions') {
    response.setHeader('content-type', 'text/event-stream');
    response.end('data: {"choices":[{"delta":{"content":"hello"}}]}\\n\\ndata: [DONE]\\n\\n');
  } else {
    response.statusCode = 404;
    response.end('{"code":"NOT_FOUND","reason":"RENTAL_NOT_FOUND","message":"no such rental"}');
  }
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const client = new Millrace({ baseUrl: 'http://127.0.0.1:' + server.address().port, apiKey: 'mr_test_x' });
const names = [];
for await (const { name } of client.keys.list()) names.push(name);
let said = '';
for await (const { choices } of client.chat.create({ model: 'm', messages: [], stream: true })) said += choices[0].delta.content;
const missing = await client.rentals.get({ rentalId: 1 }).catch((error) => error instanceof NotFoundError);
const timestamp = String(Math.floor(Date.now() / 1000));
const signature = createHmac('sha256', Buffer.from('c2VjcmV0', 'base64')).update('1.' + timestamp + '.{"id":"evt_1"}').digest('base64');
const headers = { 'webhook-id': '1', 'webhook-timestamp': timestamp, 'webhook-signature': 'v1,' + signature };
const event = await verifyWebhook({ payload: '{"id":"evt_1"}', headers, secret: 'whsec_c2VjcmV0' });
const { version } = createRequire(import.meta.url)('@millrace/sdk');
console.log(JSON.stringify({ names, said, missing, event, version }));
server.closeAllConnections();
server.close();
`;

test('SDK package: runs on each supported Node, installed in an empty folder', async () => {
  writeFileSync(path.join(home, 'program.js'), program);
  for (const folder of testedNodes()) {
    const { stdout, stderr } = await run(path.join(folder, 'node'), ['program.js'], { cwd: home });
    expect(stderr, folder).toBe('');
    expect(JSON.parse(stdout), folder).toEqual({
      names: ['one', 'two'],
      said: 'hello',
      missing: true,
      event: { id: 'evt_1' },
      version: readBuildInfo(null).version,
    });
  }
});

test('stagePackage: refuses a folder with other files and deletes none of them', async () => {
  const folder = path.join(scratch, 'work');
  mkdirSync(folder);
  writeFileSync(path.join(folder, 'thesis.txt'), 'years of work');
  await expect(stagePackage(sdkPackage, folder)).rejects.toThrow('thesis.txt');
  expect(readFileSync(path.join(folder, 'thesis.txt'), 'utf8')).toBe('years of work');
});

test('SDK package: has no dependencies and a complete manifest', () => {
  const installed = path.join(home, 'node_modules/@millrace/sdk/package.json');
  const manifest = JSON.parse(readFileSync(installed, 'utf8')) as Record<string, unknown>;
  expect(manifest).not.toHaveProperty('dependencies');
  expect(manifest).not.toHaveProperty('private');
  expect(manifest).toMatchObject({ version: readBuildInfo(null).version });
  const lock = JSON.parse(readFileSync(path.join(home, 'package-lock.json'), 'utf8')) as { packages: object };
  expect(Object.keys(lock.packages)).toEqual(['', 'node_modules/@millrace/sdk']);
});

const consumer = `
import { Millrace, type Output, type Input, type Item, type StreamItem } from '@millrace/sdk';
import { verifyWebhook } from '@millrace/sdk/webhooks';

const client = new Millrace({ baseUrl: 'https://api.example.com', apiKey: 'mr_test_x' });
const wish: Input<'createVirtualMachineRental'> = { gpuCount: 1, region: 'us-east-1' };
const made = await client.rentals.createVirtualMachine(wish, { idempotencyKey: 'k' });
const running: Output<'getRental'> = await client.rentals.waitUntil({ rentalId: made.id }, 'running');
const command: string | undefined = running.ssh[0]?.command;
const key: Item<'listApiKeys'> | undefined = (await client.keys.list({ limit: 1 })).items[0];
for await (const event of client.events.stream()) if (event.type === 'balance.low') event.data.runwaySeconds satisfies number | null;
for await (const chunk of client.chat.create({ model: 'm', messages: [], stream: true })) chunk satisfies StreamItem<'createChatCompletion'>;
(await verifyWebhook({ payload: '', headers: {}, secret: '' })).seq satisfies number;
void [command, key];
// @ts-expect-error -- there is no such GPU
await client.rentals.createVirtualMachine({ gpuCount: 1, gpuType: 'abacus' });
// @ts-expect-error -- a rental has a number
await client.rentals.get({ rentalId: 'seven' });
// @ts-expect-error -- a rental has no wheels
running.wheels;
`;

const compilerOptions = {
  ...{ strict: true, noEmit: true, target: 'es2022', exactOptionalPropertyTypes: true, skipLibCheck: false },
  ...{ noUncheckedIndexedAccess: true, typeRoots: [path.join(root, 'node_modules/@types')], types: ['node'] },
};

async function compile(folder: string, config: object): Promise<string> {
  writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify(config));
  const tsc = path.join(root, 'node_modules/.bin/tsc');
  return run(process.execPath, [tsc, '-p', '.'], { cwd: folder }).then(
    () => '',
    (error: { readonly stdout: string }) => error.stdout.slice(0, 4_000),
  );
}

test('SDK package: programs and README examples compile against its types, with every module resolution', async () => {
  const blocks = [...readme.matchAll(/```ts\n([^]*?)```/g)].map(([, code = '']) => code);
  const given = 'declare function readKey(): Promise<{ publicKey: string }>;';
  writeFileSync(path.join(home, 'readme.ts'), [given, ...blocks].join('\n'));
  writeFileSync(path.join(home, 'consumer.ts'), consumer);
  const nodenext = { ...compilerOptions, module: 'nodenext', moduleResolution: 'nodenext' };
  expect(await compile(home, { compilerOptions: nodenext, files: ['consumer.ts', 'readme.ts'] })).toBe('');
  const bundler = { ...compilerOptions, module: 'esnext', moduleResolution: 'bundler', skipLibCheck: true };
  expect(await compile(home, { compilerOptions: bundler, files: ['consumer.ts'] })).toBe('');
});

const comparison = `
import type * as printed from '${'STAGED'}/dist/operation-types.js';
import type * as inferred from '${'ROOT'}/packages/sdk/src/operation-types.ts';

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
type Differing<Part extends 'input' | 'output' | 'event'> = {
  [Id in inferred.OperationId]: Same<inferred.OperationTypes[Id][Part], printed.OperationTypes[Id][Part]> extends true ? never : Id;
}[inferred.OperationId];
type Expect<None extends never> = None;

export type All = [Expect<Differing<'input'>>, Expect<Differing<'output'>>, Expect<Differing<'event'>>];
true satisfies Same<printed.OperationId, inferred.OperationId>;
true satisfies Same<printed.Reason, inferred.Reason>;
true satisfies Same<printed.EventType, inferred.EventType>;
true satisfies Same<printed.MillraceEvent, inferred.MillraceEvent>;
`;

test('SDK package: the printed types equal the types that the contract infers', async () => {
  const folder = path.join(scratch, 'comparison');
  mkdirSync(folder);
  writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(
    path.join(folder, 'comparison.ts'),
    comparison.replace('STAGED', staged).replace('ROOT', root),
  );
  const config = {
    extends: path.join(root, 'tsconfig.json'),
    compilerOptions: { typeRoots: compilerOptions.typeRoots, noErrorTruncation: true },
    include: ['comparison.ts'],
    exclude: [],
  };
  expect(await compile(folder, config)).toBe('');
});

async function bundledBytes(code: string): Promise<number> {
  const entry = path.join(home, 'entry.js');
  writeFileSync(entry, code);
  const bundle = await rolldown({ input: entry, platform: 'browser' });
  const { output } = await bundle.generate({ format: 'esm', minify: true });
  await bundle.close();
  return gzipSync(output.map((part) => ('code' in part ? part.code : '')).join('')).length;
}

test('SDK package: has the size that its README states, and unused exports are tree-shaken', async () => {
  const [, packed, all, webhooks] =
    /at most ([\d.]+) kB packed[^]*at most ([\d.]+) kB with gzip[^]*at most ([\d.]+) kB\./.exec(readme) ?? [];
  const whole = await bundledBytes(`export * from '@millrace/sdk';`);
  const verify = await bundledBytes(`export { verifyWebhook } from '@millrace/sdk/webhooks';`);
  const oneError = await bundledBytes(`export { ConnectionError } from '@millrace/sdk';`);
  const documented = [Number(packed), Number(all), Number(webhooks)];
  const measured = [packedBytes, whole, verify].map((bytes) => bytes / 1000);
  for (const [at, size] of measured.entries()) {
    expect(size).toBeLessThanOrEqual(documented[at] ?? 0);
    // A limit far above the real size would not detect growth.
    expect(size).toBeGreaterThan((documented[at] ?? 0) * 0.6);
  }
  expect(oneError).toBeLessThan(500);
});
