import { existsSync, readFileSync, statSync } from 'node:fs';
import { eventChannels } from '@millrace/core/events';
import { keyFeedBucket, usageSubjects } from '@millrace/core/inference';
import { natsPermissions } from '@millrace/core/nats-permissions';
import { restoreMarkBucket } from '@millrace/core/restore';
import { DeadlineError, withDeadline } from '@millrace/platform/clock';
import { cellConfig, natsConfig } from '@millrace/platform/config';
import { createLogger } from '@millrace/platform/log';
import { connectNats, natsOptionsOf, natsPublicKey } from '@millrace/platform/nats';
import type { Check, CheckContext } from './check.ts';
import { finding, type Finding } from './finding.ts';
import { processes, settingsOf, type Installation } from './installation.ts';
import type { ProcessRole } from '../init/layout.ts';
import { parseNatsUsers } from './nats-users.ts';
import { natsAddresses } from './servers.ts';
import { isOlder } from '@millrace/platform/release';

const OLDEST = '2.15';
const CONNECT_MS = 4_000;
const certificateCauses = ['certificate-*@nats', 'ca-*'];

/** The server, the key of each role, its permissions, and the streams. */
export const natsCheck: Check = {
  id: 'nats',
  title: 'NATS',
  run: async (context) => {
    const unreachable = await checkGreeting(context);
    if (unreachable.length > 0) return unreachable;
    // The unit starts where this file exists.
    const isHere = existsSync(context.installation.path('nats', 'nats.conf'));
    const [ofRoles, ofMonitor] = await Promise.all([
      Promise.all(processes.map((role) => checkRole(context, role))),
      isHere ? checkMonitor(context) : [],
    ]);
    return [
      ...ofRoles.flat(),
      ...processes.flatMap((role) => missingPermissions(context, role)),
      ...ofMonitor,
    ];
  },
};

/** A server sends its greeting at once, before TLS. */
async function checkGreeting({ installation, effects }: CheckContext): Promise<readonly Finding[]> {
  const results = natsAddresses(installation).map(async (address) => {
    const text = await effects.greeting(address).catch(() => '');
    if (text.startsWith('INFO ')) return [];
    const problem = `NATS does not answer at ${address.host}:${address.port}.`;
    return [finding('nats-unreachable', 'nats', problem)];
  });
  return (await Promise.all(results)).flat();
}

async function checkRole(
  { installation, effects }: CheckContext,
  role: ProcessRole,
): Promise<readonly Finding[]> {
  const nats = settingsOf([natsConfig], installation, role)?.nats;
  if (nats === undefined) return [];
  const unencrypted = nats.urls.some((url) => !url.startsWith('tls:'))
    ? [finding('nats-tls', 'nats', 'MILLRACE_NATS_URLS does not begin with tls://.')]
    : [];
  const log = createLogger({ name: 'doctor', level: 'silent' });
  try {
    const connection = withDeadline(effects.clock, 'A connection to NATS', CONNECT_MS, async (signal) => {
      const client = await connectNats({ ...natsOptionsOf(nats, role), log, firstConnectionMs: 0, signal });
      await client.close();
    });
    await connection;
    return unencrypted;
  } catch (error) {
    // The server may refuse a connection without TLS, or be one that needs none.
    return unencrypted.length > 0 ? unencrypted : [explain(error, role, installation)];
  }
}

function explain(error: unknown, role: ProcessRole, installation: Installation): Finding {
  const message = error instanceof Error ? error.message : String(error);
  if (message.startsWith('NATS refused the credentials')) {
    const values = { path: installation.path('nats', 'users.conf') };
    return finding('nats-credentials-refused', role, `NATS refuses the key of ${role}.env.`, values);
  }
  if (/certificate|TLS/.test(message)) return finding('nats-tls', 'nats', message, {}, certificateCauses);
  const why = error instanceof DeadlineError ? 'no answer in time' : message;
  const problem = `A connection to NATS failed: ${why}`;
  return finding('nats-unreachable', 'nats', problem, {}, ['nats-tls', ...certificateCauses]);
}

/** Clients cannot read their permissions, and trying them would write messages. So the file of the users is compared. */
function missingPermissions({ installation }: CheckContext, role: ProcessRole): readonly Finding[] {
  const path = installation.path('nats', 'users.conf');
  const settings = settingsOf([natsConfig, cellConfig], installation, role);
  const key = natsPublicKey(settings?.nats.credentials ?? '');
  if (settings === null || key === null || !existsSync(path)) return [];
  const user = parseNatsUsers(readFileSync(path, 'utf8')).find(({ publicKey }) => publicKey === key);
  // Without the user, the server refuses the key. Without permissions, it may use everything.
  if (user === undefined || user.permissions === null) return [];
  const needed = natsPermissions(role, { prefix: settings.nats.prefix, cell: settings.cell.id });
  const { publish, subscribe, mayRespond } = user.permissions;
  const missing = [
    ...needed.publish.filter((subject) => !publish.includes(subject)).map((subject) => `publish ${subject}`),
    ...needed.subscribe
      .filter((subject) => !subscribe.includes(subject))
      .map((subject) => `subscribe ${subject}`),
    ...(needed.mayRespond && !mayRespond ? ['allow_responses'] : []),
  ];
  if (missing.length === 0) return [];
  const more = missing.length > 3 ? `, and ${missing.length - 3} more` : '';
  const problem = `The user of ${role} in ${path} lacks: ${missing.slice(0, 3).join(', ')}${more}.`;
  return [finding('nats-permission-missing', role, problem, { path })];
}

interface Monitor {
  readonly version: string;
  readonly loadedAt: string;
  readonly jetStream: JetStream | null;
}

interface JetStream {
  readonly isSynced: boolean;
  readonly maxBytes: number;
  readonly storedBytes: number;
  readonly streams: readonly string[];
}

async function checkMonitor(context: CheckContext): Promise<readonly Finding[]> {
  const { installation } = context;
  const path = installation.path('nats', 'nats.conf');
  const values = { path };
  const url = monitorUrl(path);
  const monitor = await readMonitor(context, url).catch(() => null);
  if (monitor === null) {
    return [
      finding('nats-monitor-unreachable', 'nats', `${url} does not answer.`, values, ['nats-unreachable']),
    ];
  }
  const { version, jetStream } = monitor;
  const old = isOlder(version, OLDEST)
    ? [finding('nats-version', 'nats', `NATS has version ${version}.`, values)]
    : [];
  const stale = changedFiles(installation, monitor.loadedAt);
  if (jetStream === null)
    return [...old, ...stale, finding('nats-jetstream-off', 'nats', 'JetStream is off.', values)];
  const { isSynced, maxBytes, storedBytes } = jetStream;
  return [
    ...old,
    ...stale,
    ...(isSynced
      ? []
      : [finding('nats-not-synced', 'nats', 'NATS does not sync each write to the disk.', values)]),
    ...(maxBytes > 0 && storedBytes * 100 > maxBytes * 80
      ? [finding('nats-store-full', 'nats', `NATS stores ${storedBytes} of ${maxBytes} bytes.`, values)]
      : []),
    ...missingStreams(installation, jetStream.streams),
  ];
}

/** The address in the configuration of the server, or the usual one. */
function monitorUrl(path: string): string {
  const lines = readFileSync(path, 'utf8').split('\n');
  const values = lines.flatMap((line) => {
    const [name = '', ...rest] = line.trim().split(/[:=]/);
    return ['http', 'http_port', 'monitor_port'].includes(name.trim()) ? [rest.join(':')] : [];
  });
  const found = (values[0] ?? '8222').replaceAll('"', '').trim();
  const address = /^\d+$/.test(found) ? `127.0.0.1:${found}` : found;
  return `http://${address.replace(/^0\.0\.0\.0:/, '127.0.0.1:')}`;
}

interface GeneralState {
  readonly version?: string;
  readonly config_load_time?: string;
}

interface StreamState {
  readonly disabled?: boolean;
  readonly storage?: number;
  readonly config?: { readonly sync_always?: boolean; readonly max_storage?: number };
  readonly account_details?: readonly { readonly stream_detail?: readonly { readonly name: string }[] }[];
}

async function readMonitor(context: CheckContext, url: string): Promise<Monitor> {
  const [general, streams] = await Promise.all([
    readState<GeneralState>(context, `${url}/varz`),
    readState<StreamState>(context, `${url}/jsz?accounts=true&streams=true`),
  ]);
  const { config, storage = 0, account_details: accounts = [], disabled = false } = streams;
  const jetStream =
    config === undefined || disabled
      ? null
      : {
          isSynced: config.sync_always === true,
          maxBytes: config.max_storage ?? 0,
          storedBytes: storage,
          streams: accounts.flatMap(({ stream_detail: details = [] }) => details.map(({ name }) => name)),
        };
  return { version: general.version ?? '', loadedAt: general.config_load_time ?? '', jetStream };
}

async function readState<State>({ effects }: CheckContext, url: string): Promise<State> {
  const { status, body } = await effects.request({ url });
  if (status !== 200) throw new Error(`The monitor answered ${status}.`);
  return JSON.parse(body) as State;
}

function changedFiles(installation: Installation, loadedAt: string): readonly Finding[] {
  const loaded = parseTime(loadedAt);
  if (loaded === null) return [];
  const changed = ['nats.conf', 'users.conf']
    .map((name) => installation.path('nats', name))
    .filter((path) => existsSync(path) && statSync(path).mtimeMs > loaded);
  return changed.map((path) =>
    finding('nats-config-not-loaded', path, `${path} was changed after NATS loaded it.`),
  );
}

function missingStreams(installation: Installation, found: readonly string[]): readonly Finding[] {
  const settings = settingsOf([natsConfig, cellConfig], installation, 'worker');
  if (settings === null) return [];
  const { prefix } = settings.nats;
  const needed = [
    eventChannels(prefix).stream,
    usageSubjects(prefix, settings.cell.id).stream,
    `KV_${keyFeedBucket(prefix)}`,
    `KV_${restoreMarkBucket(prefix)}`,
  ];
  const missing = needed.filter((name) => !found.includes(name));
  if (missing.length === 0) return [];
  const problem = `These streams do not exist: ${missing.join(', ')}.`;
  return [
    finding('nats-stream-missing', 'nats', problem, {}, [
      'process-not-running@worker',
      'nats-credentials-refused@worker',
    ]),
  ];
}

function parseTime(text: string): number | null {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : ms;
}
