import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { caddyCommand } from '@millrace/services';
import { eventually } from '../time/eventually.ts';
import { freePort } from '../network/ports.ts';
import { startCommand, type TestProcess } from './processes.ts';

/** A Caddy for one test with a wildcard certificate of a domain. It serves nothing until it is configured. */
export interface TestCaddy {
  /** The address of its admin API in Caddy's notation. */
  readonly admin: string;
  readonly socketPath: string;
  /** The loopback address and port for its configuration to listen on. */
  readonly listen: string;
  readonly certificateFile: string;
  readonly keyFile: string;
  /** Sends a GET over HTTPS and verifies the certificate and the name. */
  get(name: string, path?: string): Promise<{ readonly status: number; readonly body: string }>;
  /** Opens a TLS connection for raw requests. */
  connect(name: string): Promise<TLSSocket>;
  /** Writes a new certificate to the same files. */
  renewCertificate(): Promise<void>;
  /** The serial number of the served certificate. */
  shownCertificate(name: string): Promise<string>;
  process(): TestProcess;
  crash(): Promise<void>;
  start(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const run = promisify(execFile);

export async function startCaddy(domain: string): Promise<TestCaddy> {
  const home = await mkdtemp(path.join(tmpdir(), 'mr-caddy-'));
  const port = await freePort();
  const socketPath = path.join(home, 'admin.sock');
  const admin = `unix/${socketPath}|0600`;
  const configFile = path.join(home, 'caddy.json');
  await writeFile(configFile, JSON.stringify({ admin: { listen: admin } }));
  const files = { certificateFile: path.join(home, 'names.pem'), keyFile: path.join(home, 'names.key') };
  const renewCertificate = (): Promise<void> => makeCertificate(domain, files);
  await renewCertificate();
  const command = caddyCommand({ configFile, home });
  const launch = async (): Promise<TestProcess> => {
    const started = await startCommand({ name: 'caddy', ...command, folder: home });
    await eventually({ what: 'Caddy to take calls' }, () => isListening(socketPath));
    return started;
  };
  let caddy = await launch();
  const trust = async (name: string) => ({
    host: '127.0.0.1',
    port,
    servername: name,
    ca: await readFile(files.certificateFile),
  });
  const open = async (name: string): Promise<TLSSocket> => {
    const socket = connect(await trust(name));
    await once(socket, 'secureConnect');
    return socket;
  };
  return {
    admin,
    socketPath,
    listen: `127.0.0.1:${port}`,
    ...files,
    get: async (name, target = '/') => getOver({ ...(await trust(name)), path: target }, name),
    connect: open,
    renewCertificate,
    shownCertificate: async (name) => {
      const socket = connect({ ...(await trust(name)), rejectUnauthorized: false });
      await once(socket, 'secureConnect');
      const { serialNumber } = socket.getPeerCertificate();
      socket.destroy();
      return serialNumber;
    },
    process: () => caddy,
    crash: () => caddy.crash(),
    start: async () => {
      caddy = await launch();
    },
    [Symbol.asyncDispose]: async () => {
      await caddy.crash();
      await rm(home, { recursive: true, force: true });
    },
  };
}

async function isListening(socketPath: string): Promise<true> {
  const socket = connectTcp(socketPath);
  await once(socket, 'connect');
  socket.destroy();
  return true;
}

/** Self-signed, so clients trust only this certificate. */
async function makeCertificate(
  domain: string,
  files: { readonly certificateFile: string; readonly keyFile: string },
): Promise<void> {
  await run('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
    ...['-subj', '/CN=names of a test', '-addext', `subjectAltName=DNS:*.${domain}`],
    ...['-keyout', files.keyFile, '-out', files.certificateFile],
  ]);
}

function getOver(
  options: Parameters<typeof request>[1] & object,
  name: string,
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const call = request({ ...options, headers: { host: name }, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') }),
      );
    });
    call.once('error', reject);
    call.end();
  });
}
