import { join } from 'node:path';
import { buildConsole } from '@millrace/console-tools';
import { migrate } from '@millrace/platform/db';
import { ensureUp, Failure, isPortFree, portHolder, type Endpoints } from '@millrace/services';
import { devHelp, DevUsageError, readArgs, type DevOptions } from './src/args.ts';
import { startChildren, type ChildSpec } from './src/children.ts';
import { collectMail } from './src/mail.ts';
import { DEMO_MODEL, seedModel } from './src/models.ts';
import { sealingSettings } from './src/sealing.ts';
import { PLAY_MONEY_USD, readDemo, seedDemo, type Demo } from './src/seed.ts';

const root = join(import.meta.dirname, '..', '..');
const demoFile = join(root, '.millrace', 'dev.json');
const mailFolder = join(root, '.millrace', 'mail');
const sealingFile = join(root, '.millrace', 'dev-sealing.key');
const MAIL_FROM = 'Millrace demo <demo@millrace.example>';
const print = (text: string): void => void process.stdout.write(text);
const environment = process.env;

async function main(words: readonly string[]): Promise<number> {
  const options = readArgs(words, environment['MILLRACE_HTTP_TLS_CERT_FILE'] !== undefined);
  if (options.help) {
    print(devHelp);
    return 0;
  }
  if (options.key !== undefined) {
    const demo = readDemo(demoFile);
    const key = options.key === 'live' ? demo?.liveKey : demo?.testKey;
    if (key === undefined) throw new DevUsageError('There is no demo yet; npm run dev makes one.');
    print(`${key}\n`);
    return 0;
  }
  await requireFreePorts(options);
  if (options.console) prepareConsole();
  const engines = ['postgres', 'valkey', 'nats', 'restate', ...(options.llama ? ['llama'] : [])];
  const endpoints = await ensureUp(engines, {
    note: (engine, message) => print(`${engine.padEnd(9)} ${message}\n`),
  });
  const applied = await migrate(endpoints.postgresUrl);
  print(
    applied.length === 0
      ? 'The database is up to date.\n'
      : `Applied ${applied.length === 1 ? '1 migration' : `${String(applied.length)} migrations`}.\n`,
  );
  const demo = await seedDemo(endpoints.postgresUrl, demoFile);
  return run(options, endpoints, demo);
}

/** The rest is of use without it, so a console that does not build is told of and left out. */
function prepareConsole(): void {
  try {
    if (buildConsole() === 'built') print('The console is built.\n');
  } catch (error) {
    print(`${messageOf(error)}\nThe rest starts without it.\n`);
  }
}

async function run(options: DevOptions, endpoints: Endpoints, demo: Demo): Promise<number> {
  const interrupted = new Promise<'interrupted'>((resolve) => {
    process.once('SIGINT', () => resolve('interrupted'));
    process.once('SIGTERM', () => resolve('interrupted'));
  });
  // Where people really get mail, it goes there.
  const ownServer = environment['MILLRACE_SMTP_URL'] !== undefined;
  await using mail = ownServer ? null : await collectMail({ folder: mailFolder, print });
  const specs = childSpecs(options, endpoints, mail?.url ?? null);
  const children = startChildren(specs, { root, watch: options.watch, print });
  try {
    const early = await Promise.race([children.ready(), interrupted]);
    if (early === 'interrupted') return 0;
    await seedModel({
      apiUrl: addressOf(options),
      key: demo.liveKey,
      llama: options.llama ? (endpoints.llama ?? null) : null,
    });
    print(whatToTry(options, demo));
    if (options.once) return 0;
    const ended = await Promise.race([children.firstExit, interrupted]);
    if (ended === 'interrupted') return 0;
    print(`\n${ended.name} ended with code ${String(ended.code)}; stopping the rest.\n`);
    return 1;
  } catch (error) {
    print(`\n${messageOf(error)} Why stands above; stopping the rest.\n`);
    return 1;
  } finally {
    await children.stop();
    print('Stopped. The engines stay up; npm run services -- down stops them.\n');
  }
}

/** What each process is told. Whatever is set outside wins over nothing here but the addresses of the engines. */
function childSpecs(options: DevOptions, endpoints: Endpoints, smtpUrl: string | null): readonly ChildSpec[] {
  const sealing = sealingSettings(sealingFile);
  const { health, handlers } = workerPorts(options);
  const gateway = gatewayPorts(options);
  const shared = {
    MILLRACE_RATE_LIMIT_DEFAULT_RPM: '600',
    ...sealing,
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
      readyUrl: `${addressOf(options)}/readyz`,
      env: {
        MILLRACE_HTTP_VALIDATE_RESPONSES: 'true',
        MILLRACE_OPEN_DOCS: 'true',
        MILLRACE_HTTP_PUBLIC_URL: addressOf(options),
        MILLRACE_INFERENCE_PUBLIC_URL: addressOf({ host: options.host, port: gateway.serves }),
        ...shared,
        MILLRACE_HTTP_HOST: options.host,
        MILLRACE_HTTP_PORT: String(options.port),
        ...(options.console ? {} : { MILLRACE_CONSOLE: 'off' }),
      },
    },
    {
      name: 'worker',
      entry: 'apps/worker/src/main.ts',
      readyUrl: `http://127.0.0.1:${health}/readyz`,
      env: {
        MILLRACE_RESTATE_REPLACE_DEPLOYMENT: 'true',
        ...shared,
        MILLRACE_WORKER_HEALTH_PORT: health,
        MILLRACE_RESTATE_ENDPOINT_PORT: handlers,
      },
    },
    {
      name: 'gateway',
      entry: 'apps/gateway/src/main.ts',
      readyUrl: `http://127.0.0.1:${gateway.health}/readyz`,
      env: {
        MILLRACE_CONSOLE_ORIGINS: consoleOrigins(options).join(','),
        ...shared,
        MILLRACE_HTTP_HOST: options.host,
        MILLRACE_HTTP_PORT: String(gateway.serves),
        MILLRACE_GATEWAY_HEALTH_PORT: gateway.health,
      },
    },
  ];
}

/** Where pages of the console are from: the api, by either of its names, and the server of `npm run console:dev`. */
function consoleOrigins({ host, port }: DevOptions): readonly string[] {
  const local = ['localhost', '127.0.0.1'].flatMap((name) =>
    [port, 5173].map((each) => ({ host: name, port: each })),
  );
  return [...new Set([{ host, port }, ...local].map(addressOf))];
}

function gatewayPorts({ port }: DevOptions): { readonly serves: number; readonly health: string } {
  return {
    serves: port + 2,
    health: environment['MILLRACE_GATEWAY_HEALTH_PORT'] ?? String(port + 3),
  };
}

function workerPorts({ port }: DevOptions): { readonly health: string; readonly handlers: string } {
  return {
    health: environment['MILLRACE_WORKER_HEALTH_PORT'] ?? String(port + 1),
    handlers: environment['MILLRACE_RESTATE_ENDPOINT_PORT'] ?? String(port + 1_000),
  };
}

/** Whatever else answers on our ports would pass for us: this asks before anything is started or called ready. */
async function requireFreePorts(options: DevOptions): Promise<void> {
  const { health, handlers } = workerPorts(options);
  const needed = {
    'the api': options.port,
    "the worker's health": Number(health),
    Restate: Number(handlers),
    'the gateway': gatewayPorts(options).serves,
    "the gateway's health": Number(gatewayPorts(options).health),
  };
  for (const [who, port] of Object.entries(needed)) {
    if (await isPortFree(port)) continue;
    const holder = portHolder(port);
    const held = holder === null ? 'another process' : `process ${String(holder.pid)} (${holder.command})`;
    throw new Failure(
      `Port ${String(port)}, which ${who} needs, is held by ${held}.`,
      `Does npm run dev run already? Stop it, or take another port: npm run dev -- --port ${String(options.port + 10)}`,
    );
  }
}

function addressOf({ host, port }: Pick<DevOptions, 'host' | 'port'>): string {
  const scheme = environment['MILLRACE_HTTP_TLS_CERT_FILE'] === undefined ? 'http' : 'https';
  return `${scheme}://${host}:${String(port)}`;
}

function consoleWords(address: string, { email, password }: Demo): string {
  return `
  Console       ${address}/console/
  Sign in as    ${email}
  Password      ${password}

The console's mail goes to nobody: it is kept in .millrace/mail, and its links are printed here. Or sign up as somebody else.
`;
}

function whatToTry(options: DevOptions, demo: Demo): string {
  const address = addressOf(options);
  const chat = addressOf({ host: options.host, port: gatewayPorts(options).serves });
  return `
Millrace is ready at ${address}
${options.console ? consoleWords(address, demo) : ''}
  Organisation  ${demo.organisation}, owned by ${demo.email}, who is also an operator here
  Live key      ${demo.liveKey}
  Test key      ${demo.testKey}

Try it, in another terminal. The test key rents from a mock fleet and a mock marketplace, for nothing; its machines are not
real, and you can log into them:

  alias millrace='npm run --silent millrace --'
  npm run --silent dev -- --key test | millrace login --api-url ${address} --inference-url ${chat} --key-stdin
  millrace offers
  millrace ssh-key add
  millrace rental create --gpu h100 --name first
  millrace ssh first
  millrace rental terminate first
  millrace market list
  millrace chat --model ${DEMO_MODEL} 'Tell me of the mill.'${options.llama ? '' : '      # a mock; npm run dev -- --llama has a real one, tiny'}

The live key has play money${options.llama ? ', a tiny model of our own' : ''} and an operator's rights:

  npm run --silent dev -- --key live | millrace login --profile live --api-url ${address} --inference-url ${chat} --key-stdin
  millrace balance --profile live
  millrace admin --help

By hand, with curl or any client that speaks to OpenAI (its base URL is ${chat}/v1):

  export MILLRACE_API_KEY=$(npm run --silent dev -- --key test)
  curl ${address}/v2/me -H "Authorization: Bearer $MILLRACE_API_KEY"
  curl ${chat}/v1/models -H "Authorization: Bearer $MILLRACE_API_KEY"

Every error of the api is explained at ${address}/docs/errors.

The keys stay the same between starts (.millrace/dev.json). The organisation was given ${String(PLAY_MONEY_USD)} USD of play money, once.
Ctrl-C stops.

`;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exitCode = error instanceof DevUsageError ? 2 : 1;
}

function messageOf(error: unknown): string {
  if (error instanceof Failure) return [error.message, error.remedy, error.logTail].join('\n').trimEnd();
  return error instanceof Error ? error.message : String(error);
}
