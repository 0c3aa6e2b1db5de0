import { join } from 'node:path';
import { buildConsole } from '@millrace/console-tools';
import { migrate } from '@millrace/platform/db';
import { ensureUp, Failure, isLlamaInstalled, type Endpoints, type LlamaEndpoints } from '@millrace/services';
import type { DevOptions } from './args.ts';
import { banner, type DevAddresses } from './banner.ts';
import { startChildren, type ChildSpec } from './children.ts';
import { migrationText, prepareDemo } from './demo.ts';
import { collectEmails } from './mail.ts';
import { seedModel } from './models.ts';
import { choosePorts, type DevPorts } from './ports.ts';
import { sealingSettings } from './demo-secrets.ts';
import { saveDemo, type Demo } from './demo-file.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const logFolder = join(root, '.millrace', 'dev');
const mailFolder = join(root, '.millrace', 'mail');
const sealingFile = join(root, '.millrace', 'dev-sealing.key');
const MAIL_FROM = 'Millrace demo <demo@millrace.example>';
const print = (text: string): void => void process.stdout.write(text);
const environment = process.env;

/** Runs all processes until it is interrupted. */
export async function startDev(options: DevOptions, demoFile: string): Promise<number> {
  try {
    return await prepareAndRun(options, demoFile);
  } catch (error) {
    // The failure of an engine has a remedy and its log besides the message.
    throw error instanceof Failure ? new Error(messageOf(error), { cause: error }) : error;
  }
}

async function prepareAndRun(options: DevOptions, demoFile: string): Promise<number> {
  const ports = await choosePorts(options.port, environment);
  if (options.console) prepareConsole();
  const endpoints = await startEngines(['postgres', 'valkey', 'nats', 'restate']);
  const llama = await startLlama(options.llama);
  const applied = await migrate(endpoints.postgresUrl);
  print(migrationText(applied));
  const { settings, ...demo } = await prepareDemo(endpoints.postgresUrl, { demoFile, sealingFile, print });
  return run({ options, ports, endpoints, llama, demoFile, ...demo, demoEnv: settings });
}

function startEngines(engines: readonly string[]): Promise<Endpoints> {
  return ensureUp([...engines], {
    portBase: 'auto',
    note: (engine, message) => print(`${engine.padEnd(9)} ${message}\n`),
  });
}

/** Null: a mock answers instead. Without `--llama`, an installed llama-server that does not start is only reported. */
async function startLlama(requested: boolean | undefined): Promise<LlamaEndpoints | null> {
  if (requested === false || (requested === undefined && !isLlamaInstalled())) return null;
  try {
    return (await startEngines(['llama'])).llama ?? null;
  } catch (error) {
    if (requested === true) throw error;
    print(`${messageOf(error)}\nA mock answers instead of llama-server.\n`);
    return null;
  }
}

/** A console that does not build is reported and left out, because the other processes work without it. */
function prepareConsole(): void {
  try {
    if (buildConsole() === 'built') print('The console is built.\n');
  } catch (error) {
    print(`${messageOf(error)}\nThe other processes start without the console.\n`);
  }
}

interface Prepared {
  readonly options: DevOptions;
  readonly demoFile: string;
  readonly ports: DevPorts;
  readonly endpoints: Endpoints;
  readonly llama: LlamaEndpoints | null;
  readonly demo: Demo;
  readonly isDemo: boolean;
  readonly demoEnv: Readonly<Record<string, string>>;
}

async function run(prepared: Prepared): Promise<number> {
  const { options, llama, demo } = prepared;
  const interrupted = new Promise<'interrupted'>((resolve) => {
    process.once('SIGINT', () => resolve('interrupted'));
    process.once('SIGTERM', () => resolve('interrupted'));
  });
  // If an SMTP server is configured, emails are sent.
  const ownServer = environment['MILLRACE_SMTP_URL'] !== undefined;
  await using mail = ownServer ? null : await collectEmails({ folder: mailFolder, print });
  const addresses = addressesOf(prepared);
  const { watch, logs: showLogs } = options;
  const specs = childSpecs(prepared, mail?.url ?? null);
  const children = startChildren(specs, { root, logFolder, watch, showLogs, print });
  try {
    const early = await Promise.race([children.ready(), interrupted]);
    if (early === 'interrupted') return 0;
    await seedModel({ apiUrl: addresses.api, key: demo.liveKey, llama });
    saveDemo(prepared.demoFile, { ...demo, apiUrl: addresses.api, inferenceUrl: addresses.inference });
    print(
      banner({
        addresses,
        demo,
        withConsole: options.console,
        llama: llama !== null,
        isDemo: prepared.isDemo,
      }),
    );
    if (options.once) return 0;
    await interrupted;
    return 0;
  } catch (error) {
    print(`\n${messageOf(error)} The full logs are in ${logFolder}. Stopping the other processes.\n`);
    return 1;
  } finally {
    await children.stop();
    print('Stopped. The engines still run; stop them with npm run services -- down.\n');
  }
}

/** The environment overrides the defaults here, but not the ports and the addresses of the engines. */
function childSpecs(prepared: Prepared, smtpUrl: string | null): readonly ChildSpec[] {
  const { options, ports, endpoints, demoEnv } = prepared;
  const addresses = addressesOf(prepared);
  const sealing = sealingSettings(sealingFile);
  const shared = {
    MILLRACE_RATE_LIMIT_DEFAULT_RPM: '600',
    ...sealing,
    ...demoEnv,
    ...environment,
    ...(smtpUrl === null ? {} : { MILLRACE_SMTP_URL: smtpUrl, MILLRACE_MAIL_FROM: MAIL_FROM }),
    MILLRACE_POSTGRES_URL: endpoints.postgresUrl,
    MILLRACE_VALKEY_URL: endpoints.valkeyUrl,
    MILLRACE_POT_VALKEY_URL: endpoints.valkeyUrl,
    MILLRACE_NATS_URLS: endpoints.natsUrls.join(','),
    MILLRACE_RESTATE_INGRESS_URL: endpoints.restate.ingressUrl,
    MILLRACE_RESTATE_ADMIN_URL: endpoints.restate.adminUrl,
    MILLRACE_RESTATE_IDENTITY_KEYS: endpoints.restate.identityPublicKey,
  };
  return [
    {
      name: 'api',
      entry: 'apps/api/src/main.ts',
      readyUrl: `${addresses.api}/readyz`,
      env: {
        MILLRACE_HTTP_VALIDATE_RESPONSES: 'true',
        MILLRACE_OPEN_DOCS: 'true',
        MILLRACE_HTTP_PUBLIC_URL: addresses.api,
        MILLRACE_INFERENCE_PUBLIC_URL: addresses.inference,
        MILLRACE_HEALTH_PROCESSES: `worker=http://127.0.0.1:${ports.workerHealth},gateway=http://127.0.0.1:${ports.gatewayHealth}`,
        ...shared,
        MILLRACE_HTTP_HOST: options.host,
        MILLRACE_HTTP_PORT: String(ports.api),
        ...(options.console ? {} : { MILLRACE_CONSOLE: 'off' }),
      },
    },
    {
      name: 'worker',
      entry: 'apps/worker/src/main.ts',
      readyUrl: `http://127.0.0.1:${String(ports.workerHealth)}/readyz`,
      env: {
        MILLRACE_RESTATE_REPLACE_DEPLOYMENT: 'true',
        ...shared,
        MILLRACE_WORKER_HEALTH_PORT: String(ports.workerHealth),
        MILLRACE_RESTATE_ENDPOINT_PORT: String(ports.handlers),
      },
    },
    {
      name: 'gateway',
      entry: 'apps/gateway/src/main.ts',
      readyUrl: `http://127.0.0.1:${String(ports.gatewayHealth)}/readyz`,
      env: {
        MILLRACE_CONSOLE_ORIGINS: consoleOrigins(options.host, ports.api).join(','),
        ...shared,
        MILLRACE_HTTP_HOST: options.host,
        MILLRACE_HTTP_PORT: String(ports.gateway),
        MILLRACE_GATEWAY_HEALTH_PORT: String(ports.gatewayHealth),
      },
    },
  ];
}

/** Origins of the console: the api under each of its names, and the server of `npm run console:dev`. */
function consoleOrigins(host: string, port: number): readonly string[] {
  const local = ['localhost', '127.0.0.1'].flatMap((name) =>
    [port, 5173].map((each) => ({ host: name, port: each })),
  );
  return [...new Set([{ host, port }, ...local].map(addressOf))];
}

function addressesOf({ options: { host }, ports }: Prepared): DevAddresses {
  return { api: addressOf({ host, port: ports.api }), inference: addressOf({ host, port: ports.gateway }) };
}

function addressOf({ host, port }: { readonly host: string; readonly port: number }): string {
  const scheme = environment['MILLRACE_HTTP_TLS_CERT_FILE'] === undefined ? 'http' : 'https';
  return `${scheme}://${host}:${String(port)}`;
}

function messageOf(error: unknown): string {
  if (error instanceof Failure) return [error.message, error.remedy, error.logTail].join('\n').trimEnd();
  return error instanceof Error ? error.message : String(error);
}
