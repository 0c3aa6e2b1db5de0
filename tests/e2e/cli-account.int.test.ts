import { contract } from '@millrace/contract';
import { seedOrganisation } from '@millrace/core/fixture';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApiFixture, type ApiFixture } from '../../apps/api/src/api.fixture.ts';
import { API_URL, runCli, type RunOptions, type RunResult } from '../../apps/cli/src/fixture.ts';
import type { Command } from '../../apps/cli/src/framework/command.ts';
import { manifest } from '../../apps/cli/src/manifest.generated.ts';
import { auditLedger, closeAll } from '../stack/ledger-audit.ts';

/** CLI commands for accounts and administration against the real api. */

let fixture: ApiFixture;
let operator: string;
let owner: string;
let supplier: string;

beforeAll(async () => {
  fixture = await startApiFixture();
  const { db } = fixture;
  operator = (await seedOrganisation(db, { platformRole: 'operator' })).owner.key;
  owner = (await seedOrganisation(db)).owner.key;
  supplier = (await seedOrganisation(db, { supplies: true })).owner.key;
});

afterAll(() => closeAll([() => fixture[Symbol.asyncDispose](), () => auditLedger(fixture.db)]));

/** A fetch that calls the api in this process. */
const throughApi: typeof fetch = async (input, init) => {
  const request = new Request(input, init);
  const url = new URL(request.url);
  const text = await request.text();
  const response = await fixture.api.server.fastify.inject({
    method: request.method as 'GET',
    url: `${url.pathname}${url.search}`,
    headers: Object.fromEntries(request.headers),
    ...(text === '' ? {} : { payload: text }),
  });
  const headers = new Headers();
  for (const [name, value] of Object.entries(response.headers)) headers.set(name, String(value));
  const isEmpty = response.statusCode === 204 || response.statusCode === 304;
  return new Response(isEmpty ? null : response.rawPayload, { status: response.statusCode, headers });
};

async function millrace(key: string, args: readonly string[], more: RunOptions = {}): Promise<RunResult> {
  return runCli(args, { fetch: throughApi, apiKey: key, now: new Date().toISOString(), ...more });
}

const ed25519 =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl someone@laptop';

describe('account commands', () => {
  it('log in and log out', async () => {
    const anonymous = { apiKey: null, env: { MILLRACE_API_URL: '' }, fetch: throughApi } as const;
    const login = await runCli(['login', '--api-url', API_URL, '--key-stdin'], {
      ...anonymous,
      stdin: owner,
    });
    expect(login.code, login.stderr).toBe(0);
    const { files } = login;
    expect((await runCli(['whoami', '--json'], { ...anonymous, files })).json().role).toBe('owner');
    const out = await runCli(['logout'], { ...anonymous, files });
    expect((await runCli(['whoami'], { ...anonymous, files: out.files })).code).toBe(4);
  });

  it('create, use, rotate and revoke API keys', async () => {
    const created = await millrace(owner, [
      'key',
      'create',
      'ci',
      '--scope',
      'api-keys:read',
      '--expires',
      '2h',
    ]);
    expect(created.code, created.stderr).toBe(0);
    const key = created.stdout.trim();
    const listed = (await millrace(key, ['key', 'list', '--json'])).json() as { name: string }[];
    expect(listed.map(({ name }) => name)).toContain('ci');
    expect((await millrace(key, ['ssh-key', 'list'])).code).toBe(4);
    const rotated = await millrace(owner, ['key', 'rotate', 'ci', '--yes', '--json']);
    expect(rotated.json().key).not.toBe(key);
    expect(
      (await millrace(owner, ['key', 'revoke', rotated.json().id, '--yes', '--json'])).json().revokedAt,
    ).not.toBeNull();
    expect((await millrace(owner, ['key', 'revoke', 'ci', '--yes'])).code).toBe(5);
  });

  it('manage SSH keys and members', async () => {
    const files = { '/key.pub': ed25519 };
    const added = await millrace(owner, ['ssh-key', 'add', '/key.pub', '--json'], { files });
    expect(added.json().name).toBe('someone@laptop');
    expect((await millrace(owner, ['ssh-key', 'add', '/key.pub'], { files })).code).toBe(1);
    expect((await millrace(owner, ['ssh-key', 'delete', 'someone@laptop', '--yes'])).code).toBe(0);
    const [member] = (await millrace(owner, ['member', 'list', '--json'])).json() as {
      email: string;
      role: string;
    }[];
    expect(member?.role).toBe('owner');
    const last = await millrace(owner, ['member', 'update', member?.email ?? '', '--role', 'viewer']);
    expect(last.stderr).toContain('LAST_OWNER');
  });
});

describe('admin commands', () => {
  it('create an organisation, grant it credit, suspend and resume it', async () => {
    const owned = '{"email":"new@example.com","name":"New"}';
    const made = await millrace(operator, [
      ...['admin', 'org', 'create', '--name', 'New', '--slug', 'new-one', '--owner', owned, '--json'],
    ]);
    expect(made.code, made.stderr).toBe(0);
    const grant = await millrace(operator, [
      ...['admin', 'org', 'grant', 'new-one', '25.000000001', '--reason', 'welcome', '--yes', '--json'],
    ]);
    expect(grant.json().balanceAfterNanoUsd).toBe('25000000001');
    const suspend = ['admin', 'org', 'suspend', 'new-one', '--reason', 'a test', '--yes', '--json'];
    expect((await millrace(operator, suspend)).json().status).toBe('suspended');
    const resume = ['admin', 'org', 'resume', 'new-one', '--reason', 'a test', '--json'];
    expect((await millrace(operator, resume)).json().status).toBe('active');
    const log = (await millrace(operator, ['admin', 'audit-log', 'list', '--json'])).json() as {
      action: string;
    }[];
    expect(log.length).toBeGreaterThan(2);
  });

  it('create and end a price', async () => {
    const price = await millrace(operator, [
      ...[
        'admin',
        'price',
        'create',
        '2.49',
        '--gpu',
        'h100',
        '--from',
        '2030-01-01',
        '--reason',
        'a test',
        '--yes',
      ],
      '--json',
    ]);
    expect(price.code, price.stderr).toBe(0);
    const listed = await millrace(operator, ['admin', 'price', 'list']);
    expect(listed.stdout).toContain('h100 virtual-machine in all regions');
    const ended = await millrace(operator, ['admin', 'price', 'end', price.json().id, '--reason', 'a test']);
    expect(ended.code, ended.stderr).toBe(0);
  });

  it('are refused to tenants with exit code 4, as are supplier commands', async () => {
    expect((await millrace(owner, ['admin', 'fleet'])).code).toBe(4);
    expect((await millrace(owner, ['supplier', 'machine', 'list'])).code).toBe(4);
  });
});

/** Commands that only read and have no required arguments or flags. */
async function plainReads(): Promise<readonly Command[]> {
  const commands = await Promise.all(manifest.map(({ load }) => load()));
  const operations: Readonly<Record<string, { method: string; errorFamily: string }>> = contract.operations;
  return commands.filter(
    ({ positionals, flags, operations: ids, json }) =>
      positionals.every(({ optional }) => optional === true) &&
      Object.values(flags).every((flag) => !('required' in flag)) &&
      ['list', 'record'].includes(json.kind) &&
      ids.length > 0 &&
      ids.every((id) => operations[id]?.method === 'GET' && operations[id]?.errorFamily !== 'inference'),
  );
}

it('every read command without required arguments prints its declared fields', async () => {
  const commands = await plainReads();
  const runs = commands.map(async ({ name }) => {
    const key = name.startsWith('admin ') ? operator : name.startsWith('supplier ') ? supplier : owner;
    const run = await millrace(key, [...name.split(' '), '--json']);
    return { name, code: run.code, message: run.stderr.split('\n')[0] };
  });
  const failed = (await Promise.all(runs)).filter(({ code }) => code !== 0);
  // An organisation that is not a supplier has no supplier account.
  expect(failed.filter(({ message }) => message?.includes('SUPPLIER_NOT_FOUND') !== true)).toEqual([]);
  expect(commands.length).toBeGreaterThan(30);
});
