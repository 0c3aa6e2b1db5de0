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

/** A Caddy of a test's own with a certificate for every name below a domain. It serves nothing until it is told to. */
export interface TestCaddy {
  /** Where its admin API is, as Caddy writes it. */
  readonly admin: string;
  readonly socketPath: string;
  /** Where a configuration may have it listen: loopback and a port. */
  readonly listen: string;
  readonly certificateFile: string;
  readonly keyFile: string;
  /** A GET over HTTPS by a client that checks the certificate and the name. */
  get(name: string, path?: string): Promise<{ readonly status: number; readonly body: string }>;
  /** A connection over TLS, on which a test says what it wants to. */
  connect(name: string): Promise<TLSSocket>;
  /** Another certificate in the same files. */
  renewCertificate(): Promise<void>;
  /** The serial number of the certificate that it shows. */
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

/** Signed by itself: whoever trusts it trusts nothing else. */
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
