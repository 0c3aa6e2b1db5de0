import { parseArgs } from 'node:util';
import { isLoopback } from '@millrace/platform/net';

export interface DevOptions {
  readonly host: string;
  /** Default: 8080, or the next free port. */
  readonly port: number | undefined;
  /** Start, wait until all processes are ready, print the banner and stop. */
  readonly once: boolean;
  readonly watch: boolean;
  /** Start a llama-server, so that live keys call a real model. Default: if it is installed. */
  readonly llama: boolean | undefined;
  readonly console: boolean;
  readonly logs: boolean;
  /** Only print this key of the demo. */
  readonly key: 'live' | 'test' | undefined;
  /** Only print this address of the demo. */
  readonly url: 'api' | 'inference' | undefined;
  readonly help: boolean;
}

export class DevUsageError extends Error {}

/** The largest port is that of the Restate handlers, 1000 above the api. */
const highestPort = 64_535;

export const devHelp = `npm run dev [-- --port 8080] [--host 127.0.0.1] [--no-llama] [--no-console] [--logs] [--watch] [--once]
npm run --silent dev -- --key live
npm run --silent dev -- --url api

Starts the engines, migrates the database, creates a small demo, builds the console if its files changed, and runs the api,
the worker and the gateway. Emails are not sent: they are stored in .millrace/mail, and their links are printed.

  --port PORT   port of the api; the worker takes PORT + 1 (health) and PORT + 1000 (Restate), the
                gateway PORT + 2 and PORT + 3 (health). Default: 8080, or the next free set of ports
  --host HOST   address to listen on; loopback only, unless TLS is configured
                (MILLRACE_HTTP_TLS_CERT_FILE, MILLRACE_HTTP_TLS_KEY_FILE)
  --llama       fail if llama-server does not start. By default it answers live keys with a tiny model if it is installed
                (npm run services -- up llama --install), otherwise a mock that says so. Test keys always get a mock
  --no-llama    always a mock
  --no-console  do not build and serve the console
  --logs        also print the logs of the processes; they are always in .millrace/dev
  --watch       restart a process when its files change
  --key MODE    only print the demo's key: live or test
  --url NAME    only print an address of the last start: api or inference
  --once        start, wait until everything is ready, print the banner, and stop

Ctrl-C stops the processes. The engines keep running for the next start; npm run services -- down stops them.
MILLRACE_LOG_LEVEL=debug logs more, MILLRACE_LOG_LEVEL=warn only warnings and errors.
`;

export function readArgs(words: readonly string[], tlsConfigured: boolean): DevOptions {
  const values = parse(words);
  const port = values.port === undefined ? undefined : portOf(values.port);
  if (!isLoopback(values.host) && !tlsConfigured) {
    throw new DevUsageError(
      `--host is ${JSON.stringify(values.host)}, beyond loopback: keys would cross the network unencrypted.\n` +
        'Set MILLRACE_HTTP_TLS_CERT_FILE and MILLRACE_HTTP_TLS_KEY_FILE, or omit --host.',
    );
  }
  const { host, logs, once, watch, key, url, help } = values;
  const withConsole = !values['no-console'];
  const llama = values['no-llama'] ? false : values.llama;
  if (key !== undefined && key !== 'live' && key !== 'test') {
    throw new DevUsageError(`--key is ${JSON.stringify(key)}; use live or test.`);
  }
  if (url !== undefined && url !== 'api' && url !== 'inference') {
    throw new DevUsageError(`--url is ${JSON.stringify(url)}; use api or inference.`);
  }
  return { host, port, llama, logs, once, watch, console: withConsole, key, url, help };
}

function portOf(text: string): number {
  const port = Number(text);
  if (/^[0-9]{1,5}$/.test(text) && port >= 1 && port <= highestPort) return port;
  throw new DevUsageError(
    `--port is ${JSON.stringify(text)}; use a number from 1 to ${String(highestPort)}.`,
  );
}

function parse(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      options: {
        host: { type: 'string', default: '127.0.0.1' },
        port: { type: 'string' },
        llama: { type: 'boolean' },
        'no-llama': { type: 'boolean', default: false },
        logs: { type: 'boolean', default: false },
        once: { type: 'boolean', default: false },
        watch: { type: 'boolean', default: false },
        'no-console': { type: 'boolean', default: false },
        key: { type: 'string' },
        url: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    const [what = ''] = (error instanceof Error ? error.message : String(error)).split('. ');
    throw new DevUsageError(`${what}.\nSee npm run dev -- --help`);
  }
}
