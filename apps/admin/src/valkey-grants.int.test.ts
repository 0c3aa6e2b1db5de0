import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createValkeyMarkStore } from '@millrace/core/restore';
import {
  deleteOldLeases,
  isServerReady,
  limitSetOf,
  prepareServer,
  readIncarnation,
  ValkeyLeases,
  type LeaseServer,
} from '@millrace/credit-leases/protocol';
import { claimSlot, engineSlotsKey, releaseSlot } from '@millrace/inference/engine-slots';
import { createLimiter, type RatePolicy } from '@millrace/platform/limiter';
import { createLogger } from '@millrace/platform/log';
import { connectValkey, renderValkeyUsers, type ValkeyClient } from '@millrace/platform/valkey';
import { makeAuthority, startValkeyServer, testIds } from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { valkeyGrants, valkeyRoles, type ValkeyRole } from './valkey-grants.ts';

/** The printed users on a real server. */

const prefix = 'own';
const log = createLogger({ name: 'test', level: 'silent' });
const hash = (password: string): string => createHash('sha256').update(password).digest('hex');
const authority = await makeAuthority();
const server = await startValkeyServer({
  tls: await authority.issue({ name: 'valkey' }),
  ca: authority.certificate,
  login: 'all:super',
  users: renderValkeyUsers([
    ...valkeyRoles.map((role) => ({
      ...{ name: `millrace-${role}`, passwordHashes: [hash(role)], grants: valkeyGrants(role, prefix) },
    })),
    { name: 'all', passwordHashes: [hash('super')], grants: null },
  ]),
});
const clients = {} as Record<ValkeyRole, ValkeyClient>;
beforeAll(async () => {
  for (const role of valkeyRoles) {
    const url = `rediss://millrace-${role}:${role}@127.0.0.1:${server.port}`;
    const ca = authority.certificate;
    clients[role] = await connectValkey({ url, ca, name: role, log, commandTimeoutMs: 60_000 });
  }
});
afterAll(async () => {
  for (const client of Object.values(clients)) await client.close();
  await server[Symbol.asyncDispose]();
});

const orgId = testIds.next('org');
const owner = { orgId, mode: 'live' } as const;
const policy = {
  name: 'requests',
  scope: 'organisation',
  subject: orgId,
  limit: 9,
  windowMs: 60_000,
} as const;
const [epoch, gatewayId, leaseId] = [1n, 'gateway', testIds.next('lse')];
const grant = { epoch, leaseId, granted: 100n, budgets: new Map(), admitForMs: 600_000 };

async function count(client: ValkeyClient): Promise<void> {
  const policies: RatePolicy[] = [policy];
  const decision = await createLimiter({ valkey: client, log, timeoutMs: 60_000 }).consume({
    tag: orgId,
    policies,
  });
  expect(decision).toMatchObject({ allowed: true, degraded: false });
}

async function leaseServer(): Promise<LeaseServer> {
  const incarnation = await readIncarnation(clients.worker);
  return { namespace: '0123456789ab', generation: 1n, incarnation };
}

async function reserve(requestId: 'req_1' | 'req_2'): Promise<void> {
  const limits = limitSetOf(orgId, [{ ...policy, counts: 'requests' }]);
  const request = { epoch, gatewayId, amount: 10n, least: 10n, budgets: [], limits, costs: [1] };
  const leases = new ValkeyLeases(clients.gateway, await leaseServer());
  expect(await leases.reserve(owner, { ...request, requestId: requestId as never })).toMatchObject({
    outcome: 'admitted',
  });
}

/** All operations of a process with this role. */
const operations: Readonly<Record<ValkeyRole, () => Promise<void>>> = {
  api: () => count(clients.api),
  worker: async () => {
    const lender = await leaseServer();
    await prepareServer(clients.worker, lender);
    expect(await isServerReady(clients.worker, lender)).toBe(true);
    const leases = new ValkeyLeases(clients.worker, lender);
    expect(await leases.open(owner, grant)).toEqual({ outcome: 'opened' });
    expect(await leases.enlarge(owner, { ...grant, granted: 200n })).toMatchObject({ outcome: 'granted' });
    expect(await leases.isLost(owner, epoch)).toBe(false);
    expect(await leases.recall(owner, { epoch, known: 0n, wanted: 5n })).toMatchObject({ recalled: 5n });
    expect(await leases.reservationsOf(owner, epoch, gatewayId)).toEqual([]);
    expect(await leases.close(owner, epoch, [])).toMatchObject({ outcome: 'closed' });
    await leases.remove(owner, epoch, [gatewayId]);
    // As after a restore.
    await clients.worker.command(['HSET', `pot:${lender.namespace}:{${orgId}}:live`, 'closed', '1']);
    await clients.worker.command(['HMGET', `pot:${lender.namespace}:{${orgId}}:live`, 'epoch']);
    await deleteOldLeases(clients.worker, lender.namespace, async () => true);
    expect(await server.client.command(['KEYS', 'pot:*'])).toEqual([]);
    const marks = createValkeyMarkStore(clients.worker, prefix);
    await clients.worker.command(['SET', `restore-mark:${prefix}:installation`, '']);
    expect(await marks.read('other')).toBeNull();
  },
  gateway: async () => {
    await count(clients.gateway);
    await reserve('req_1');
    const leases = new ValkeyLeases(clients.gateway, await leaseServer());
    const requests = [{ requestId: 'req_1' as never, actual: 4n }];
    expect(await leases.settle(owner, { epoch, gatewayId, requests, back: [] })).toMatchObject({ found: 1 });
    const keys = [engineSlotsKey('http://127.0.0.1:1')];
    const args = [orgId, 'prefix', '1', '60000', '1'];
    const [slot, , claim] = (await clients.gateway.run(claimSlot, { keys, args })) as number[];
    await clients.gateway.run(releaseSlot, {
      keys,
      args: [String(slot), '1', orgId, 'prefix', String(claim), '1'],
    });
  },
};

const alwaysAllowed = ['client|setinfo', 'ping'];
const commandsOfRole = (role: ValkeyRole): string[] =>
  [
    ...new Set([...alwaysAllowed, ...valkeyGrants(role, prefix).flatMap(({ commands }) => commands)]),
  ].toSorted();

describe.each(valkeyRoles)('the Valkey user of role %s', (role) => {
  beforeAll(async () => {
    const lender = await leaseServer();
    await prepareServer(server.client, lender);
    if (role === 'gateway') await new ValkeyLeases(server.client, lender).open(owner, grant);
  });

  it('may run exactly the commands of its operations', async () => {
    await server.client.command(['SCRIPT', 'FLUSH']);
    await prepareServer(server.client, await leaseServer());
    await server.client.command(['CONFIG', 'RESETSTAT']);
    await operations[role]();
    await clients[role].ping();
    const stats = String(await server.client.command(['INFO', 'commandstats']));
    const ran = [...stats.matchAll(/^cmdstat_([^:]+):/gm)].map(([, name = '']) => name);
    const ofTest = ['config|resetstat', 'keys'];
    const own = new Set([...ran.filter((name) => !ofTest.includes(name)), ...alwaysAllowed]);
    expect([...own].toSorted()).toEqual(commandsOfRole(role));
  });

  it('may use no other command, and no other key with its commands', async () => {
    const all = await readCommands();
    expect(all.length).toBeGreaterThan(300);
    const own = commandsOfRole(role);
    const denied = all.filter(({ name, needsNoUser }) => !own.includes(name) && !needsNoUser);
    expect(all.length - denied.length).toBeGreaterThanOrEqual(own.length);
    for (const command of denied) {
      for (const key of Object.values(keysOfKinds)) {
        const outcome = await dryRun(role, command, [key]);
        expect(outcome, command.name).toMatch(/has no permissions to run the '[^']+' command/);
      }
    }
    for (const command of all.filter(({ name }) => own.includes(name))) {
      for (const keys of keyChoices) {
        const allowed = !usesKeys(command) || isGranted(role, command.name, keys);
        const outcome = await dryRun(role, command, keys);
        expect(outcome === 'OK', `${command.name} ${keys.join(' ')}: ${outcome}`).toBe(allowed);
      }
    }
  });
});

it('each plain command in the code belongs to the worker, or to the connection', () => {
  const root = join(import.meta.dirname, '../../..');
  const folders = ['apps', 'packages'].flatMap((group) =>
    readdirSync(join(root, group)).map((name) => join(root, group, name, 'src')),
  );
  const texts = folders
    .filter((folder) => !folder.includes('/testing/'))
    .flatMap((folder) => readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name))))
    .filter((file) => file.endsWith('.ts') && !/\.(?:test|fixture)\.ts$/.test(file))
    // It reads the server's settings as the operator's own user.
    .filter((file) => !file.endsWith('/doctor/valkey.check.ts'))
    .map((file) => readFileSync(file, 'utf8'));
  const found = texts.flatMap((text) => [
    ...text.matchAll(/\.command\(\[\s*'([A-Z]+)'(?:,\s*'((?:EXISTS|LOAD)\b))?/g),
  ]);
  const names = found.map(([, name = '', sub]) => [name, ...(sub === undefined ? [] : [sub])].join('|'));
  const lower = new Set(names.map((name) => name.toLowerCase()));
  expect(lower.size).toBeGreaterThan(8);
  expect([...lower].filter((name) => !commandsOfRole('worker').includes(name))).toEqual([]);
});

const keysOfKinds = {
  limit: 'limit:{org}:requests:60000:org',
  lease: 'pot:0123456789ab:{org}:live',
  slots: engineSlotsKey('http://127.0.0.1:1'),
  mark: `restore-mark:${prefix}:installation`,
  otherMark: 'restore-mark:other:installation',
  foreign: 'foreign',
};
const keyChoices = Object.values(keysOfKinds).flatMap((one) =>
  Object.values(keysOfKinds).map((two) => (one === two ? [one] : [one, two])),
);

interface ServerCommand {
  readonly name: string;
  readonly arity: number;
  readonly firstKey: number;
  readonly lastKey: number;
  /** The server allows it before a login, and so to every user. */
  readonly needsNoUser: boolean;
}

type Described = readonly [string, number, Iterable<string>, number, number, ...(readonly unknown[])];

/** All commands of the server, with subcommands in place of their container. */
async function readCommands(): Promise<readonly ServerCommand[]> {
  const leaves = (described: Described): readonly ServerCommand[] => {
    const [name, arity, flags, firstKey, lastKey] = described;
    const subcommands = described[9] as readonly Described[];
    if (subcommands.length > 0) return subcommands.flatMap(leaves);
    return [{ name, arity, firstKey, lastKey, needsNoUser: [...flags].includes('no_auth') }];
  };
  return ((await server.client.command(['COMMAND'])) as readonly Described[]).flatMap(leaves);
}

const runsScript = ({ name }: ServerCommand): boolean => name === 'eval' || name === 'evalsha';
const usesKeys = (command: ServerCommand): boolean => runsScript(command) || command.firstKey !== 0;

/** Whether one grant has the command and all keys that it uses. */
function isGranted(role: ValkeyRole, name: string, keys: readonly string[]): boolean {
  const takesSeveral = ['eval', 'evalsha', 'del', 'mget', 'unlink'].includes(name);
  const used = takesSeveral ? keys : keys.slice(0, 1);
  return valkeyGrants(role, prefix).some(
    (each) =>
      each.commands.includes(name) &&
      used.every((key) => each.keys.some((pattern) => key.startsWith(pattern.replace(/\*$/, '')))),
  );
}

async function dryRun(role: ValkeyRole, command: ServerCommand, keys: readonly string[]): Promise<string> {
  const words = command.name.split('|');
  if (runsScript(command)) words.push('text', String(keys.length), ...keys);
  else if (command.lastKey < 0) words.push(...keys);
  else if (keys[0] !== undefined) words.push(keys[0]);
  const least = Math.abs(command.arity);
  const padded = [...words, ...Array.from({ length: Math.max(0, least - words.length) }, () => '1')];
  const exact = command.arity > 0 ? padded.slice(0, command.arity) : padded;
  return String(await server.client.command(['ACL', 'DRYRUN', `millrace-${role}`, ...exact]));
}
